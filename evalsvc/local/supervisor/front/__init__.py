"""The front of the service under `make up HTTPS=1`: Caddy, which ends TLS and buffers complete requests."""
