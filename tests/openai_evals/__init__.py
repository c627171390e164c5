"""OpenAI's unmodified clients against this service."""
