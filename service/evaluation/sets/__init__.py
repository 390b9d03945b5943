"""What is asked: fixed sets of questions, released ones and those of others."""
