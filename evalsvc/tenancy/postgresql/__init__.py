"""Django's PostgreSQL backend with a pool whose health check costs a system call instead of a round trip."""
