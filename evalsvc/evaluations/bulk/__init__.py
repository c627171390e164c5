"""Many calls in one request: planned one by one, kept and waited for together, answered in their order."""
