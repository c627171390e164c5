"""Retention, deletion, sweep, `verify`, repair and the packing of partitions."""
