"""The start page."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from evalsvc.console.access import PageRequest, console_page


@console_page()
def home_page(request: PageRequest) -> HttpResponse:
    """Show what happened and what waits for a person."""
    return render(request, "console/home/home.html", {})
