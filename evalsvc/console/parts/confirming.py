"""Dangerous acts are confirmed by the name of what they destroy."""

from __future__ import annotations

from django.http import HttpRequest

CONFIRM_FIELD = "confirm"


def is_confirmed(request: HttpRequest, name: str) -> bool:
    """Say whether the person has typed the name."""
    return request.POST.get(CONFIRM_FIELD, "").strip() == name.strip()
