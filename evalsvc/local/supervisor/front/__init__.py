"""What stands before the service under `make up HTTPS=1`: Caddy, which ends TLS and reads whole requests."""
