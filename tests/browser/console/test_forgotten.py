"""The pages of a forgotten password, which are there where the service sends mails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from tests.admin.conftest import PASSWORD, new_user
from tests.browser.conftest import Browser
from tests.browser.console.looking import assert_for_everyone
from tests.serving import serving


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve an application that is told of a mail server. No worker hears of the mail."""
    told = {"EVALSVC_SMTP_HOST": "mail.example", "EVALSVC_PUBLIC_URL": "https://evals.example.com"}
    with serving(Path(os.environ["EVALSVC_HOME"]) / "gunicorn-mails.log", "/healthz", **told) as url:
        yield url


def test_a_new_password_by_a_link(browser: Browser) -> None:
    user, page = new_user(password=PASSWORD), browser.page
    browser.open("/console/sign-in")
    browser.follow("text=Forgot password?")
    assert_for_everyone(browser.page)
    page.get_by_label("E-mail address").fill(user.email)
    browser.follow("main button[type=submit]")
    assert "a link has been sent" in page.inner_text("#messages")
    assert_for_everyone(browser.page)

    person, token = urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)
    browser.open(f"/console/sign-in/reset/{person}/{token}")
    page.get_by_label("New password", exact=True).fill("another long secret phrase")
    page.get_by_label("Confirm new password").fill("something else entirely")
    browser.follow("main button[type=submit]")
    assert "differ" in page.inner_text("[role=alert]")
    assert_for_everyone(browser.page)
    page.get_by_label("New password", exact=True).fill("another long secret phrase")
    page.get_by_label("Confirm new password").fill("another long secret phrase")
    browser.follow("main button[type=submit]")
    assert "Password changed" in page.inner_text("#messages")
