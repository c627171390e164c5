"""Who may call: keys, their scopes, and how soon a revoked one is refused everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from evalsvc.accounts.access import authentication, permits
from evalsvc.accounts.access.keys import KeyText, new_key_text, parse_key
from evalsvc.accounts.models import ApiKey
from evalsvc.accounts.services import issue_key, revoke_key
from tests.accounts.keys import key_row, revoke
from tests.conftest import CHECKOUT, Caller, new_caller
from tests.rest.shapes import assert_problem

EVALUATE = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris"}


def whoami(**meta: Any) -> Any:
    return Client(raise_request_exception=False).get("/v1/whoami", **meta)


def test_it_tells_who_calls(alice: Caller, bob: Caller) -> None:
    told = bob.get("/v1/whoami").json()["caller"]

    assert told["api_key"]["account"] == {"id": str(alice.account.pk), "name": alice.account.name}
    assert told["api_key"]["scope"] == "read"
    assert told["user"] is None
    assert bob.key.split(".")[1] not in str(told)


def test_both_headers_carry_a_key(alice: Caller) -> None:
    for value in (f"Bearer {alice.key}", f"bearer {alice.key}", f"BEARER  {alice.key} "):
        assert whoami(HTTP_AUTHORIZATION=value).status_code == 200
    assert whoami(HTTP_X_API_KEY=f" {alice.key} ").status_code == 200


def bad_keys(caller: Caller) -> dict[str, dict[str, str]]:
    public, secret = caller.key.removeprefix("ek_").split(".")
    expired = issue_key(account=caller.account, name="old", expires_at=datetime.now(UTC) - timedelta(seconds=1))[1]
    revoked = new_caller(caller.account)
    revoke(revoked)
    return {
        "missing": {},
        "empty": {"HTTP_X_API_KEY": ""},
        "garbled": {"HTTP_X_API_KEY": "ek_' OR 1=1 --"},
        "not latin": {"HTTP_X_API_KEY": "\u0435k_" + public},
        "with a NUL": {"HTTP_X_API_KEY": f"{caller.key}\0"},
        "another scheme": {"HTTP_AUTHORIZATION": f"Basic {caller.key}"},
        "no scheme": {"HTTP_AUTHORIZATION": caller.key},
        "unknown": {"HTTP_X_API_KEY": str(new_key_text())},
        "wrong secret": {"HTTP_X_API_KEY": str(KeyText(public, secret[::-1]))},
        "upper case": {"HTTP_X_API_KEY": str(KeyText(public.upper(), secret))},
        "expired": {"HTTP_X_API_KEY": str(expired)},
        "revoked": {"HTTP_X_API_KEY": revoked.key},
    }


def test_every_bad_key_is_refused_alike(alice: Caller) -> None:
    for what, meta in bad_keys(alice).items():
        answer = whoami(**meta)
        problem = assert_problem(answer, "unauthenticated")
        assert answer["WWW-Authenticate"] == 'Bearer realm="evalsvc"', what
        assert "RateLimit" not in answer, what
        looks_like_a_key = what in ("unknown", "wrong secret", "expired", "revoked")
        assert ("unknown, expired or revoked" in problem["detail"]) == looks_like_a_key, what


def test_it_says_what_is_wrong_with_a_key(alice: Caller) -> None:
    other = str(new_key_text())
    for meta, said in (
        ({}, "no API key"),
        ({"HTTP_X_API_KEY": " "}, "no API key"),
        ({"HTTP_AUTHORIZATION": "Bearer "}, "no API key"),
        ({"HTTP_AUTHORIZATION": "Basic dXNlcjpwYXNz"}, "no API key"),
        ({"HTTP_X_API_KEY": "sk-123"}, "not of the form `ek_…`"),
        ({"HTTP_AUTHORIZATION": "Bearer eyJhbGciOi.J9.sig"}, "not of the form `ek_…`"),
        ({"HTTP_X_API_KEY": alice.key[:-1]}, "not of the form `ek_…`"),
        ({"HTTP_X_API_KEY": f"Bearer {alice.key}"}, "not of the form `ek_…`"),
        ({"HTTP_X_API_KEY": f"{alice.key},{alice.key}"}, "more than one key"),
        ({"HTTP_X_API_KEY": f"{alice.key}, {other}"}, "more than one key"),
        ({"HTTP_AUTHORIZATION": f"Bearer {alice.key},Bearer {alice.key}"}, "more than one key"),
    ):
        problem = assert_problem(whoami(**meta), "unauthenticated")
        assert said in problem["detail"], meta
        assert alice.key.split(".")[1] not in str(problem)


def test_two_keys_that_disagree_are_refused(alice: Caller, charlie: Caller) -> None:
    for other in (charlie.key, str(new_key_text())):
        answer = whoami(HTTP_X_API_KEY=alice.key, HTTP_AUTHORIZATION=f"Bearer {other}")
        assert "two keys" in assert_problem(answer, "unauthenticated")["detail"]
    assert whoami(HTTP_X_API_KEY=alice.key, HTTP_AUTHORIZATION=f"Bearer {alice.key}").status_code == 200


@pytest.mark.parametrize(
    "foreign", ["Basic dXNlcjpwYXNz", "Bearer eyJhbGciOi.J9.sig", "Bearer sk-123", "Digest x", "x"]
)
def test_an_authorization_of_somebody_else_is_ignored(alice: Caller, foreign: str) -> None:
    assert whoami(HTTP_X_API_KEY=alice.key, HTTP_AUTHORIZATION=foreign).status_code == 200


def test_a_bad_key_costs_the_account_nothing(alice: Caller) -> None:
    public = alice.key.removeprefix("ek_").split(".")[0]
    before = int(alice.get("/v1/whoami")["x-ratelimit-monthly-remaining-requests"])
    for _ in range(5):
        whoami(HTTP_X_API_KEY=f"ek_{public}.{'x' * 43}")

    assert int(alice.get("/v1/whoami")["x-ratelimit-monthly-remaining-requests"]) == before - 1


def test_a_key_ends_on_time(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)
    text = str(issue_key(account=alice.account, name="short", expires_at=moment)[1])
    assert whoami(HTTP_X_API_KEY=text).status_code == 200

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return moment

    monkeypatch.setattr("evalsvc.accounts.access.authentication.datetime", Later)
    assert_problem(whoami(HTTP_X_API_KEY=text), "unauthenticated")


def test_a_read_key_reads(alice: Caller, bob: Caller) -> None:
    assert bob.post("/v1/evaluations/search", {}).status_code == 200
    for path in ("/v1/whoami", "/v1/evaluators", "/v1/evaluator-criteria", "/v1/history?evaluator=pii"):
        assert bob.get(path).status_code == 200


def test_it_refuses_readers(alice: Caller, bob: Caller) -> None:
    body = {"evaluator_family": "metrics", "name": "mine", "config": {"metric": "bleu"}}
    profile = alice.post("/v1/evaluator-criteria", body).json()["evaluator_criteria"]["public_id"]

    assert_problem(bob.post("/v1/evaluate", EVALUATE), "read_only_key")
    assert_problem(bob.post("/v1/evaluator-criteria", body | {"name": "other"}), "read_only_key")
    assert_problem(bob.post(f"/v1/evaluator-criteria/{profile}/revision", {"config": {}}), "read_only_key")
    assert_problem(bob.patch(f"/v1/evaluator-criteria/{profile}/archive"), "read_only_key")


def test_only_a_digest_of_the_secret_is_stored(alice: Caller) -> None:
    secret = alice.key.split(".")[1]
    row = ApiKey.objects.using("system").get(pk=key_row(alice).pk)

    assert secret not in str({name: bytes(v) if name == "secret_hash" else v for name, v in vars(row).items()})
    assert secret.encode() not in bytes(row.secret_hash)


def test_a_revoked_key_is_refused_on_its_next_call(alice: Caller) -> None:
    assert alice.get("/v1/whoami").status_code == 200
    revoke(alice)

    assert_problem(alice.get("/v1/whoami"), "unauthenticated")


def test_a_key_that_many_find_old_is_read_once(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    text = parse_key(alice.key)
    assert text is not None and authentication.identify(text) is not None
    entry = authentication._cache.find(text.public)
    assert entry is not None
    authentication._cache.put(text.public, entry.value, entry.epoch, until=0.0)
    reads: list[str] = []
    all_found_it_old, n = threading.Barrier(8, timeout=60), 8
    admit, find = permits.take_permit, authentication.find_key  # type: ignore[attr-defined]  # as it is patched

    def admitted(*args: Any, **options: Any) -> Any:
        admission = admit(*args, **options)
        all_found_it_old.wait()
        return admission

    def noted(public: str) -> Any:
        reads.append(public)
        return find(public)

    monkeypatch.setattr(permits, "take_permit", admitted)
    monkeypatch.setattr(authentication, "find_key", noted)
    monkeypatch.setattr("evalsvc.tenancy.rows.WAIT_SECONDS", 60)

    def identified(_: int) -> int | None:
        try:
            caller = authentication.identify(text)
            return caller.account.pk if caller else None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(n) as pool:
        assert list(pool.map(identified, range(n))) == [alice.account.pk] * n
    assert reads == [text.public]


def test_revoking_twice_is_refused(alice: Caller) -> None:
    from evalsvc.rest.problems import Invalid

    key = key_row(alice)
    revoke_key(account=alice.account, key=key, now=datetime.now(UTC))
    with pytest.raises(Invalid):
        revoke_key(account=alice.account, key=key, now=datetime.now(UTC))


OTHER_PROCESS = """
import sys, django
django.setup()
from django.test import Client
for line in sys.stdin:
    print(Client().get("/v1/whoami", HTTP_X_API_KEY=line.strip()).status_code, flush=True)
"""


@pytest.fixture
def other_process() -> Iterator[subprocess.Popen[str]]:
    """A second process of the service, that answers a line of key with a line of status."""
    command = [sys.executable, "-c", OTHER_PROCESS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen(command, cwd=CHECKOUT, env=os.environ, **pipes) as process:  # type: ignore[call-overload]
        yield process
        process.stdin.close()
        process.wait(30)


def test_a_revoked_key_is_refused_in_every_process(alice: Caller, other_process: subprocess.Popen[str]) -> None:
    def ask() -> int:
        assert other_process.stdin is not None and other_process.stdout is not None
        other_process.stdin.write(alice.key + "\n")
        return int(other_process.stdout.readline())

    assert [ask(), ask()] == [200, 200]
    revoke(alice)
    assert ask() == 401
