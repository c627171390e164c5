"""The release before has people with sessions, passwords and second factors: they stay, out of reach of the application."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from psycopg.errors import InsufficientPrivilege

from tests import services
from tests.deploy.upgrade.page import MIGRATE
from tests.deploy.upgrade.releases import Release, unpacked_previous
from tests.growth.databases import Database, new_database
from tests.serving import serving

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(600)]

PASSWORD = "correct horse battery staple"
MAKE = f"""
import django, json
django.setup()
from django.test import Client
from evalsvc.accounts.models import Account, Member, User
from evalsvc.accounts.services import add_member, create_account, issue_key
from evalsvc.accounts.signing_in import factors
from evalsvc.tenancy.scope import SYSTEM, role_scope
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value

with role_scope(SYSTEM):
    account = create_account(name="Acme")
    people = [User.objects.create_user(f"{{name}}@example.com", {PASSWORD!r}, is_staff=True) for name in ("ann", "ben")]
    for user in people:
        add_member(account=account, user=user, role=Member.Role.ADMIN)
    key = issue_key(account=account, name="k")[1]
secret = factors.new_secret()
step = next(iter(factors.yield_hotp_counters_from_time()))
assert factors.switch_on(user=people[1], secret=secret, code=format_hotp_value(hotp_value(secret, step)))
browser = Client(HTTP_HOST="localhost")
assert browser.post("/console/sign-in", {{"username": "ann@example.com", "password": {PASSWORD!r}}}).status_code == 302
assert browser.get("/console/experiments").status_code == 200
print("MADE", json.dumps([browser.cookies["sessionid"].value, secret, str(key)]))
"""
SIGN_IN, BOARD = "/console/sign-in", "/console/experiments"
MAY_NOT = (
    "UPDATE accounts_user SET is_superuser = true",
    "SELECT session_key FROM django_session",
    "SELECT session_key FROM usersessions_usersession",
    "SELECT data FROM mfa_authenticator",
    "SELECT password FROM accounts_user",
)


@dataclass
class Installation:
    """A database that the release before has filled: somebody signed in, and somebody with a second factor."""

    old: Release
    database: Database
    cookie: str
    secret: str
    key: str

    def refused(self) -> list[str]:
        """Return what the application's role may not do."""
        found = []
        with self.database.connect("app") as connection:
            for statement in MAY_NOT:
                try:
                    connection.execute(statement)
                except InsufficientPrivilege:
                    found.append(statement)
        return found


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return unpacked_previous(tmp_path_factory.mktemp("releases") / "previous")


@pytest.fixture
def installation(old: Release) -> Iterator[Installation]:
    with new_database(services.servers.postgres.url) as database:
        env = os.environ | database.urls
        old.run(*MIGRATE, env=env)
        told = old.run("-c", MAKE, env=env)
        found = re.search(r"^MADE (.*)$", told, re.MULTILINE)
        assert found, told
        yield Installation(old, database, *json.loads(found[1]))


def sign_in(url: str, email: str) -> httpx.Response:
    """Sign in as a browser does: with the form's token."""
    with httpx.Client(base_url=url, follow_redirects=True) as browser:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get(SIGN_IN).text)
        assert token
        form = {"username": email, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
        return browser.post(SIGN_IN, data=form)


def evaluate(url: str, key: str) -> None:
    """Evaluate a sample, which reads a history and writes to it."""
    body = {
        "evaluators": [{"evaluator": "exact-match"}],
        "confidence_interval_strategy": "full-history",
        "evaluated_model_output": "a",
        "evaluated_model_gold_answer": "a",
    }
    answer = httpx.post(url + "/v1/evaluate", json=body, headers={"X-API-KEY": key})
    assert answer.status_code == 200, answer.text
    assert answer.json()["results"][0]["evaluation_result"]["score_raw"] == 1.0


def is_signed_in(url: str, cookie: str) -> bool:
    return httpx.get(url + BOARD, cookies={"sessionid": cookie}, follow_redirects=True).url.path != SIGN_IN


def test_the_release_before_reaches_people(installation: Installation) -> None:
    if (installation.old.folder / "evalsvc/accounts/rights.py").exists():
        pytest.skip("The release before has the role for sign-in.")
    assert installation.refused() == []


def test_people_stay_signed_in_and_out_of_reach(installation: Installation, tmp_path: Path) -> None:
    installation.database.migrate()
    assert installation.refused() == list(MAY_NOT)
    with installation.database.connect("owner") as owner:
        rows = owner.execute("SELECT s::text || n::text FROM django_session s, usersessions_usersession n").fetchall()
    assert rows and installation.cookie not in str(rows)

    with serving(tmp_path / "web.log", **installation.database.urls) as url:
        assert is_signed_in(url, installation.cookie)
        assert re.fullmatch(r"/console/\d+/", sign_in(url, "ann@example.com").url.path)
        assert sign_in(url, "ben@example.com").url.path == "/console/sign-in/code"
        headers = {"X-API-KEY": installation.key}
        assert httpx.get(url + "/v1/whoami", headers=headers).status_code == 200
        with installation.database.connect("owner") as owner:
            sql = "SELECT count(*) FROM accounts_auditentry WHERE action = 'signin.succeeded'"
            assert owner.execute(sql).fetchone() == (2,)


def test_processes_of_the_release_before_serve_the_api_and_end_no_session(
    installation: Installation, tmp_path: Path
) -> None:
    """Until they are replaced. Their pages for people fail, and leave cookies alone."""
    old = installation.old
    installation.database.migrate()
    with serving(tmp_path / "old.log", "/readyz", (old.python, old.folder), **installation.database.urls) as url:
        assert httpx.get(url + "/v1/whoami", headers={"X-API-KEY": installation.key}).status_code == 200
        evaluate(url, installation.key)
        page = httpx.get(url + BOARD, cookies={"sessionid": installation.cookie})
        print(page.status_code)
        assert "sessionid" not in page.headers.get("Set-Cookie", "")
    with serving(tmp_path / "new.log", **installation.database.urls) as url:
        assert is_signed_in(url, installation.cookie)


def test_going_back_gives_the_release_before_its_pages(installation: Installation, tmp_path: Path) -> None:
    old, key = installation.old, installation.key
    installation.database.migrate()
    with serving(tmp_path / "newer.log", **installation.database.urls) as url:
        evaluate(url, key)
    installation.database.migrate("accounts", "0001")
    old.run(*MIGRATE, env=os.environ | installation.database.urls)
    with serving(tmp_path / "old.log", "/readyz", (old.python, old.folder), **installation.database.urls) as url:
        assert not is_signed_in(url, installation.cookie)
        assert sign_in(url, "ann@example.com").url.path == "/console/"
        evaluate(url, key)

    installation.database.migrate()
    assert installation.refused() == list(MAY_NOT)
    with serving(tmp_path / "new.log", **installation.database.urls) as url:
        evaluate(url, key)
