"""Annotations: criteria, and the labels that people give by them."""
