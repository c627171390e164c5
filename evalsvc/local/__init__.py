"""Everything on one machine: PostgreSQL and Valkey of the service's own, and the processes that serve, supervised."""
