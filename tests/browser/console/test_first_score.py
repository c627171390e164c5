"""From the door to the first score of one's own on a chart, by nothing but what the pages say."""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any

from evalsvc.accounts.models import Member
from evalsvc.accounts.services import add_member, create_account
from evalsvc.tenancy.scope import SYSTEM, role_scope
from tests import leftovers
from tests.admin.conftest import PASSWORD, new_user
from tests.browser.conftest import Browser
from tests.browser.console.door import sign_in_at_the_door

KEY_PLACE = re.compile(r"ek_…")


def newcomer() -> Any:
    """Somebody with an account in which nothing is, and no key."""
    user = new_user(password=PASSWORD)
    with role_scope(SYSTEM):
        account = create_account(name=f"account of {user.email}")
        add_member(account=account, user=user, role=Member.Role.ADMIN)
    leftovers.note(account.pk)
    return user


def copied(page: Any, label: str) -> str:
    """What the button beside a command would copy."""
    return str(page.locator(f"[role=region][aria-label='{label}'] code").inner_text())


def test_a_newcomer_gets_from_the_door_to_a_score_of_their_own(browser: Browser) -> None:
    page = browser.page
    sign_in_at_the_door(page, browser.address, newcomer().email, PASSWORD)
    assert "Three steps to your first score" in browser.text()
    export, command = copied(page, "Key"), copied(page, "Command")

    page.get_by_role("link", name="Issue an API key").click()
    if page.get_by_role("link", name="Issue a key").count():
        page.get_by_role("link", name="Issue a key").first.click()
    page.get_by_label(re.compile("^Name")).fill("laptop")
    page.get_by_role("button", name="Issue the key").click()
    key = copied(page, "Key")

    lines = f"{KEY_PLACE.sub(key, export)}\n{command} --silent --show-error --fail-with-body --max-time 60"
    done = subprocess.run(
        ["bash", "-euc", lines],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

    page.get_by_role("link", name="Home", exact=True).first.click()
    assert "first-steps" in browser.text()
    page.get_by_role("link", name="Quality", exact=True).first.click()
    page.get_by_role("link", name=re.compile("exact-match")).first.click()
    chart = page.locator(".chart", has_text="how sure it is")
    assert chart.locator(".point").count() == 1, "the mean until then"
    number = page.inner_text("[aria-labelledby=h-now]")
    assert "1" in number and "n = 1" in number
    assert "needed" in number
