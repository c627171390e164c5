"""Plans, configs, metrics, and how fields of samples are found."""
