"""Spans and logs of OpenTelemetry: taken in, searched, read."""
