"""Events that accounts are told of: an outbox, endpoints, and signed deliveries with retries."""
