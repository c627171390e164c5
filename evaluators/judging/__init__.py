"""Code shared by the families that query an LLM judge: prompts, readings, samples, and prompt injection checks."""
