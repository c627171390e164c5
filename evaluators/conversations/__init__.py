"""Conversations of an agent: one normal form for every format of messages, and comparisons of its tool calls."""
