"""What OpenTelemetry sends: its JSON, its values and its records."""
