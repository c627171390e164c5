"""Costs, with the currency in which the prices of connections are."""

from __future__ import annotations

from django.conf import settings

from evalsvc.experiments.reporting.words import number


def format_cost(value: float) -> str:
    """Return a cost with its currency."""
    return f"{number(value)} {settings.CURRENCY}"
