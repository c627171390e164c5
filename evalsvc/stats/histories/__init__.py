"""Histories: the bootstrap of their mean without resampling, drift, batches, and how often intervals cover."""
