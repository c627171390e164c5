"""Dangerous acts are confirmed by the name of what they destroy."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest

CONFIRM_FIELD = "confirm"


def is_confirmed(request: HttpRequest, name: str) -> bool:
    """Return whether the person has typed the name."""
    return request.POST.get(CONFIRM_FIELD, "").strip() == name.strip()


def check_confirmation(request: HttpRequest, name: str) -> bool:
    """Return whether the user typed the name; if not, add a message that nothing was changed."""
    if is_confirmed(request, name):
        return True
    messages.error(request, f"Nothing was done: the text does not match {name}.")
    return False
