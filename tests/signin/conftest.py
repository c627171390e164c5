"""Somebody with a password, a browser that is nobody's yet, and an app that makes codes."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client, override_settings

from evalsvc.accounts.signing_in import factors
from evalsvc.accounts.tasks import record_sign_in_lock
from tests.admin.conftest import PASSWORD, join, new_user
from tests.conftest import Caller

SIGN_IN, CODE, YOU = "/console/sign-in", "/console/sign-in/code", "/console/you"
NOW = 1_800_000_000


class Clock:
    """The time that codes are made for: tests decide it."""

    def __init__(self) -> None:
        self.now = float(NOW)

    def steps(self) -> Iterator[int]:
        return (int(self.now) // 30 + apart for apart in (-1, 0, 1))

    def next_step(self) -> None:
        self.now += 30


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    held = Clock()
    monkeypatch.setattr(factors, "yield_hotp_counters_from_time", held.steps)
    return held


@pytest.fixture(autouse=True)
def quick_hashes() -> Iterator[None]:
    """Hashes of passwords that take no time: these tests make very many."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(autouse=True)
def locks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Whose locks workers are told of, and from where; they are written at once."""
    told: list[tuple[str, str]] = []

    def delay(email: str, address: str) -> None:
        told.append((email, address))
        record_sign_in_lock.apply(args=[email, address], throw=True)

    monkeypatch.setattr("evalsvc.accounts.tasks.record_sign_in_lock.delay", delay)
    return told


@dataclass
class App:
    """What an app on a phone does."""

    secret: str
    clock: Clock

    def code(self, steps: int = 0) -> str:
        step = int(self.clock.now) // 30 + steps
        return str(format_hotp_value(hotp_value(self.secret, step)))


@dataclass
class Somebody:
    """A person and their browser, at an address of their own: tests share Redis."""

    user: Any
    ip: str = field(default_factory=lambda: f"10.{uuid.uuid4().int % 250}.{uuid.uuid4().int % 250}.7")
    app: App | None = None
    codes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = self.new_browser()

    def new_browser(self, agent: str = "a test") -> Client:
        return Client(REMOTE_ADDR=self.ip, HTTP_USER_AGENT=agent)

    def sign_in(self, password: str = PASSWORD, client: Client | None = None, **fields: str) -> Any:
        sent = {"username": self.user.email, "password": password, **fields}
        return (client or self.client).post(SIGN_IN, sent)

    def send_code(self, code: str, client: Client | None = None) -> Any:
        return (client or self.client).post(CODE, {"code": code})

    def enter(self, client: Client | None = None) -> Client:
        """Sign in, with a code of the next half minute where one is asked for."""
        browser = client or self.client
        self.sign_in(client=browser)
        if self.app is not None:
            self.app.clock.next_step()
            assert self.send_code(self.app.code(), browser).status_code == 302
        return browser

    def post(self, path: str = "", **fields: str) -> Any:
        return self.client.post(f"{YOU}{path}", fields)

    def set_up(self, clock: Clock) -> None:
        """Set a second factor up by the page, in a browser that is signed in."""
        page = self.client.get(f"{YOU}/factor").content.decode()
        self.app = App(secret_of(page), clock)
        answer = self.post("/factor", code=self.app.code(), proof=PASSWORD)
        assert answer.status_code == 200, answer.status_code
        self.codes = codes_of(answer.content.decode())


def give_factor(user: Any) -> None:
    """Let somebody have a second factor, without the page."""
    from allauth.mfa.totp.internal.auth import TOTP

    TOTP.activate(user, factors.new_secret())


def secret_of(page: str) -> str:
    found = re.search(r"<code>([A-Z2-7 ]{32,})</code>", page)
    assert found is not None
    return found[1].replace(" ", "")


def codes_of(page: str) -> list[str]:
    return re.findall(r"\d{5}-\d{5}", page)


def is_signed_in(client: Client) -> bool:
    return client.get(YOU).status_code == 200


def trail_of(caller: Caller, user: Any) -> list[str]:
    from evalsvc.accounts.models import AuditEntry

    rows = AuditEntry.objects.using("system").filter(account=caller.account, target=user.email)
    return [action for action in rows.order_by("id").values_list("action", flat=True) if action != "member.added"]


@pytest.fixture
def ann(alice: Caller) -> Somebody:
    """An editor of Alice's account, not signed in yet."""
    user = new_user(password=PASSWORD)
    join(user, alice.account, "editor")
    return Somebody(user)


@pytest.fixture
def guarded(ann: Somebody, clock: Clock) -> Somebody:
    """Ann with a second factor, signed out; the time has gone on by a step since."""
    ann.enter()
    ann.set_up(clock)
    ann.client = ann.new_browser()
    clock.next_step()
    return ann
