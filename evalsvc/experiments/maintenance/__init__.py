"""Recounts and repairs."""
