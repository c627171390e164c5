"""The operator page: state of the installation, from the metrics of `/metrics` and from the database."""
