"""Every page of the console that a browser looks at. A new page is one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ROLES = ("reader", "editor", "admin", "operator")

Found = dict[str, Any]
"""What `furnished` (conftest.py) has made in the account: the ids that addresses are filled with."""

# Address below /console/, filled from what the account holds, and the role that it needs.
PAGES: tuple[tuple[str, str], ...] = (
    ("", "reader"),
    ("kit", "reader"),
    ("accounts", "reader"),
)

# What must be in the account for the pages above: called once with the caller; returns names for the addresses.
FURNISHERS: tuple[Callable[[Any], Found], ...] = ()
