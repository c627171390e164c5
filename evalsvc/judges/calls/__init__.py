"""One call to an endpoint: sent, read, counted, and what a test of a connection says."""
