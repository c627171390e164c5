"""The calls of the service: HTTP with retries, and one method for each address."""
