"""Prompts and policies: released as files, put in force by an activation, and who is asked with which."""
