"""The HTTP calls of prompts."""
