"""The conversation of a session, from the spans that its agent has left."""
