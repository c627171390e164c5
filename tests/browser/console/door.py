"""The real door of the console, as somebody sees it: by its labels, wherever it stands."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

E_MAIL = re.compile("e-?mail", re.IGNORECASE)


def sign_in_at_the_door(page: Any, address: str, email: str, password: str) -> None:
    """Open the console, be led to the door, and sign in."""
    page.goto(f"{address}/console/")
    page.get_by_label(E_MAIL).fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_label("Password").press("Enter")
    page.wait_for_url(lambda url: re.match("/console/(?!sign-in)", urlsplit(url).path) is not None)


def choose_account(page: Any, address: str, name: str) -> None:
    """Look at one of the accounts that the signed-in person may see."""
    page.goto(f"{address}/console/accounts")
    button = page.get_by_role("button", name=f"Open {name}", exact=True)
    if button.count():
        button.click()
        page.wait_for_load_state()
