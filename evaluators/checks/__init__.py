"""Checks that an account writes down itself and that run without a model: settings in, verdicts out."""
