"""Is an answer supported by its contexts, second version: what it claims, whether that stands there, and why not."""
