"""Rules: score the spans that applications send, without a change of the application."""
