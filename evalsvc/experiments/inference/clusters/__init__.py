"""Estimates where examples share something: counted by cluster, and shown with what they cannot say."""
