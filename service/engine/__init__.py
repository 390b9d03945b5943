"""The language model's server, vLLM: started, looked at, stopped."""
