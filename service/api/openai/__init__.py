"""The service as clients of OpenAI's API know one: other words for what `/v1/ask` does, and no second way."""
