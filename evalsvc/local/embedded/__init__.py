"""PostgreSQL and Valkey from the wheels, run as plain child processes: no package manager, no new system user."""
