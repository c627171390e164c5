"""Event notifications for accounts: an outbox, endpoints, and signed deliveries with retries."""
