"""The console's addresses, from the part that a test knows."""

from __future__ import annotations

import re

PERSONAL = re.compile("(sign-in|you|accounts|theme|invitations|operator)(/|$|[?#])|reviews/[^/]+/queue")
"""Pages about the person, and for people who are not members: no account is in their addresses."""


def console_address(account_id: object, path: str = "") -> str:
    """The address of a page in an account; without an id, the one that redirects to the selected account."""
    return f"/console/{path}" if account_id is None or PERSONAL.match(path) else f"/console/{account_id}/{path}"
