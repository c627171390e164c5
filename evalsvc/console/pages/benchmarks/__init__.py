"""Benchmarks: a frozen question, and what each execution of it has reached."""
