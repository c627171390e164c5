"""The small models behind the family `toxicity`, and the passages that they read."""
