"""Metrics between texts: how near an output comes to a gold answer."""
