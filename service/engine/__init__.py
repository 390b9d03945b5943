"""The language model's server, vLLM: started, looked at, asked, stopped."""
