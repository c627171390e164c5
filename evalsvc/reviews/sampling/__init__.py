"""Sampling of review items: the frame of candidates, and the draw from it."""
