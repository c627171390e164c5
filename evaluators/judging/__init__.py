"""What families share that ask an LLM for a verdict: prompts, readings, samples and the watch for injection."""
