"""What an LLM is asked about an answer that rests on retrieved texts, and the arithmetic of what it says."""
