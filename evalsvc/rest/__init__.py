"""How the service speaks HTTP: problems, pages, idempotency, limits, OpenAPI."""
