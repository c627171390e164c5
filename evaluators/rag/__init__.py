"""Questions to an LLM about an answer based on retrieved texts, and the arithmetic on its answers."""
