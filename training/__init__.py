"""Scripts that make the small models shipped in evaluators/heads; none runs in the service."""
