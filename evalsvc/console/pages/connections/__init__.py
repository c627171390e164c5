"""Connections to LLMs: what they spend, how their calls end, and what to do about one that does not answer."""
