"""Shared parts of all statistics: input checks, running sums of scores, result types."""
