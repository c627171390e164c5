"""Many calls in one request: planned separately, stored and awaited together, answered in order."""
