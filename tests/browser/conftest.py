"""A real gunicorn on a free port and a real browser that may talk to nobody else."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from tests.admin.conftest import PASSWORD
from tests.serving import serving

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="session", autouse=True)
def chromium() -> str:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    return CHROMIUM


@pytest.fixture(autouse=True)
def fresh_connections() -> None:
    """Playwright runs tests in a context of its own, whose connections nobody closes when PostgreSQL is restarted."""
    connections.close_all()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Serve the application as in production."""
    with serving(Path(os.environ["EVALSVC_HOME"]) / "gunicorn.log", "/healthz", EVALSVC_WEB_THREADS="8") as url:
        yield url


# Runs before any script of a page, and outside of its policy.
WATCH = """document.addEventListener("securitypolicyviolation", (event) =>
    console.error("policy", event.effectiveDirective, event.blockedURI, event.sourceFile, event.sample))"""


@dataclass
class Browser:
    """One window, and everything that went wrong in it."""

    page: Any
    address: str
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: str) -> Any:
        answer = self.page.goto(self.address + path)
        self.settle()
        return answer

    def follow(self, selector: str) -> None:
        """Click what leads to another page."""
        with self.page.expect_navigation():
            self.page.click(selector)
        self.settle()

    def settle(self) -> None:
        """Wait until the page and its fonts are there; never for a quiet network, which a page that polls never has."""
        self.page.evaluate("() => document.fonts.ready.then(() => null)")

    def sign_in(self, user: Any) -> None:
        self.open("/console/sign-in?next=/admin/")
        self.page.fill("#id_username", user.email)
        self.page.fill("#id_password", PASSWORD)
        self.page.click("#login-form button[type=submit]")
        self.page.wait_for_url("**/admin/")

    def text(self) -> str:
        return str(self.page.inner_text("body"))

    def assert_quiet(self) -> None:
        """No dialog, no script error, nothing missing or against the policy, and no request left this machine."""
        assert self.errors == []
        strangers = [url for url in self.requests if not url.startswith((self.address, "data:", "blob:"))]
        assert strangers == []


@pytest.fixture(scope="module")
def chromium_process(chromium: str) -> Iterator[Any]:
    """Not for the session: while Playwright runs, its event loop makes Django take this thread for an async one."""
    from playwright.sync_api import sync_playwright

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    profile = tempfile.mkdtemp(prefix="evalsvc-chromium-")
    with sync_playwright() as playwright:
        process = playwright.chromium.launch(executable_path=chromium, args=FLAGS, env={**os.environ, "HOME": profile})
        yield process
        process.close()
    shutil.rmtree(profile, ignore_errors=True)
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def said(line: Any) -> str:
    return f"console {line.text} {line.location.get('url', '')}".strip()


@pytest.fixture
def browser(chromium: str, address: str, chromium_process: Any) -> Iterator[Browser]:
    context = chromium_process.new_context(viewport={"width": 1280, "height": 900})
    window = Browser(context.new_page(), address)
    page = window.page
    page.set_default_timeout(60_000)
    page.add_init_script(WATCH)
    page.on("dialog", lambda dialog: (window.errors.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("pageerror", lambda error: window.errors.append(f"script {error}"))
    page.on("console", lambda line: window.errors.append(said(line)) if line.type == "error" else None)
    page.on("request", lambda request: window.requests.append(request.url))
    yield window
    try:
        window.assert_quiet()
    finally:
        context.close()
