"""Hallucination detection, second version: an answer's claims, whether the contexts support them, and why not."""
