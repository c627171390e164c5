"""The operator's page: how the installation stands, by the figures of `/metrics` and what the database says."""
