"""A short description of a User-Agent header."""

from __future__ import annotations

# In this order: most browsers name others as well.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("python", "a Python program"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)


def browser_name(agent: str) -> str:
    """Return the browser and the system that the header names.

    The header is not reliable: clients can send any text.
    """
    browser = next((name for mark, name in BROWSERS if mark in agent), "")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    return " on ".join(part for part in (browser, system) if part) or "Unknown"
