"""A scripted endpoint that plays what real providers answer, and the tables of what must come of it."""
