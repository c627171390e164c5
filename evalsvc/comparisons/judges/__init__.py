"""Who judges: scores that are there, an LLM that sees both outputs, or people."""
