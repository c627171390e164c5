"""Filters, pages, results and tags."""
