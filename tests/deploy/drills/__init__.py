"""Restore, point in time, failover."""
