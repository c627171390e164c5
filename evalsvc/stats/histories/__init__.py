"""Histories: the bootstrap of their mean without resampling, batches, and how often intervals cover."""
