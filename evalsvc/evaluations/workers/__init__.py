"""The lanes at work: judges, computing, and what both share."""
