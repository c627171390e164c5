"""`Idempotency-Key`: a POST sent again is answered again, and done once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connections

from evalsvc.catalog.models import Profile, ProfileRevision
from evalsvc.rest.idempotency import finish_claim
from evalsvc.rest.models import IdempotencyRecord
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller, scores_of, wait_until
from tests.rest.idempotent_routes import EVALUATE, N_OWN_RECORDS, NOT_REPLAYED, PROFILE, ROUTES, WITHOUT_BODY, status_of
from tests.rest.shapes import assert_problem, view_of


def records(caller: Caller) -> Any:
    return IdempotencyRecord.objects.using("system").filter(account_id=caller.account.pk)


def n_revisions(caller: Caller) -> int:
    return ProfileRevision.objects.using("system").filter(account_id=caller.account.pk).count()


def elsewhere(send: Callable[[], Any]) -> Any:
    """Send a request from a thread of its own, as the server does."""

    def run() -> Any:
        try:
            return send()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def test_every_post_is_covered_here(alice: Caller) -> None:
    paths = alice.get("/v1/openapi.json").json()["paths"]

    assert {path for path, methods in paths.items() if "post" in methods} == set(ROUTES) | NOT_REPLAYED


@pytest.mark.parametrize("route", ROUTES)
def test_it_replays_to_the_byte(alice: Caller, route: str) -> None:
    path, body = ROUTES[route](alice)
    first, second = (alice.post(path, body, Idempotency_Key="key 1") for _ in range(2))

    assert first.status_code == second.status_code == status_of(route), first.content
    assert first.content == second.content
    assert first.get("Content-Type") == second.get("Content-Type")
    assert "Idempotency-Replayed" not in first
    assert second["Idempotency-Replayed"] == "true"
    assert records(alice).count() == 1 + N_OWN_RECORDS.get(route, 0)


@pytest.mark.parametrize("route", ROUTES)
def test_it_refuses_another_body_under_the_key(alice: Caller, route: str) -> None:
    path, body = ROUTES[route](alice)
    alice.post(path, body, Idempotency_Key="k")

    code = "validation_failed" if "POST" in view_of(path).bare else "idempotency_key_reused"
    assert_problem(alice.post(path, body | {"more": 1}, Idempotency_Key="k"), code)


def test_it_refuses_another_address_under_the_key(alice: Caller) -> None:
    alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k")

    assert_problem(alice.post("/v1/evaluations/search", EVALUATE, Idempotency_Key="k"), "idempotency_key_reused")


def test_it_is_done_once(alice: Caller) -> None:
    path, body = ROUTES["/v1/evaluator-criteria/{public_id}/revision"](alice)
    for _ in range(3):
        alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="evaluate")
        alice.post(path, body, Idempotency_Key="revise")

    assert len(scores_of(alice, "exact-match")) == 1
    assert n_revisions(alice) == 2


@pytest.mark.parametrize("route", ["/v1/evaluate", "/v1/evaluator-criteria"])
def test_eight_at_once_have_one_effect(alice: Caller, route: str) -> None:
    path, body = ROUTES[route](alice)
    start = threading.Barrier(8, timeout=100)

    def send(_: int) -> Any:
        start.wait()
        return elsewhere(lambda: alice.post(path, body, Idempotency_Key="k"))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))

    assert {answer.status_code for answer in answers} <= {200, 409}
    assert len({answer.content for answer in answers if answer.status_code == 200}) == 1
    assert len(scores_of(alice, "exact-match")) == (route == "/v1/evaluate")
    assert n_revisions(alice) == (route == "/v1/evaluator-criteria")


def test_accounts_have_their_own_keys(alice: Caller, charlie: Caller) -> None:
    answers = [caller.post("/v1/evaluate", EVALUATE, Idempotency_Key="k") for caller in (alice, charlie)]

    assert all("Idempotency-Replayed" not in answer for answer in answers)
    assert len(scores_of(alice, "exact-match")) == len(scores_of(charlie, "exact-match")) == 1


@pytest.mark.parametrize(("route", "service"), [
    ("/v1/evaluate", "evalsvc.evaluations.evaluate.accept.accept"),
    ("/v1/evaluator-criteria", "evalsvc.catalog.services.create_profile"),
])  # fmt: skip
def test_a_second_request_hears_that_the_first_is_running(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, route: str, service: str
) -> None:
    path, body = ROUTES[route](alice)
    seen: list[Any] = []

    def meanwhile(**kwargs: Any) -> Any:
        monkeypatch.undo()
        seen.append(elsewhere(lambda: alice.post(path, body, Idempotency_Key="k")))
        raise RuntimeError("the first one breaks, too")

    monkeypatch.setattr(service, meanwhile)
    assert_problem(alice.post(path, body, Idempotency_Key="k"), "internal_error")

    assert_problem(seen[0], "in_progress")
    assert 1 <= int(seen[0]["Retry-After"]) <= 60
    assert seen[0]["x-should-retry"] == "true"
    assert alice.post(path, body, Idempotency_Key="k").status_code == 200


@pytest.mark.parametrize("route", [route for route in ROUTES if route not in WITHOUT_BODY])
def test_a_refused_request_gives_the_key_back(alice: Caller, route: str) -> None:
    path, body = ROUTES[route](alice)
    bad = {name: 7 for name in body if name != "limit"} | {"limit": "x"}

    assert alice.post(path, bad, Idempotency_Key="k").status_code == 422
    assert alice.post(path, raw=b"{", Idempotency_Key="k").status_code == 400
    assert alice.post(path, body, Idempotency_Key="k").status_code == status_of(route)


def test_a_rolled_back_request_gives_the_key_back(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **fields: Any) -> None:
        raise RuntimeError("at the last moment")

    monkeypatch.setattr("evalsvc.accounts.views.finish_claim", broken)
    assert alice.post("/v1/evaluator-criteria", PROFILE, Idempotency_Key="k").status_code == 500
    assert n_revisions(alice) == 0

    monkeypatch.undo()
    assert alice.post("/v1/evaluator-criteria", PROFILE, Idempotency_Key="k").status_code == 200


class Crash(BaseException):
    """A process that dies takes no exit through any `except Exception`."""


def test_a_database_that_goes_away_meanwhile_is_unavailable(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key cannot be given back then: the answer is of the failure, not of that."""

    def gone(*args: object, **fields: object) -> None:
        raise OperationalError("the server closed the connection")

    def broken(*args: object, **fields: object) -> None:
        monkeypatch.setattr("evalsvc.rest.idempotency.account_scope", gone)
        gone()

    monkeypatch.setattr("evalsvc.accounts.views.finish_claim", broken)
    answer = alice.post("/v1/projects", {"name": "gone"}, Idempotency_Key="gone")
    monkeypatch.undo()

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer["Retry-After"]


def away_once(monkeypatch: pytest.MonkeyPatch, *, is_committed: bool) -> None:
    """Let the connection break at the next commit, before the server does it or after: nobody can tell which."""
    real = psycopg.Connection.commit

    def commit(self: Any) -> None:
        monkeypatch.setattr(psycopg.Connection, "commit", real)
        if is_committed:
            real(self)
        self.close()
        raise psycopg.OperationalError("the server closed the connection")

    monkeypatch.setattr(psycopg.Connection, "commit", commit)


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_key_whose_claim_may_have_been_kept_is_given_back(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    """After a failover, a retry must not wait for the lease of a claim that nobody holds."""
    away_once(monkeypatch, is_committed=is_committed)
    assert_problem(alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k"), "unavailable")

    wait_until(lambda: not records(alice).exists())
    assert alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k").status_code == 200
    assert len(scores_of(alice, "exact-match")) == 1


def test_a_key_is_given_back_when_the_database_is_back(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    n_failures = iter(range(3))

    def away(*args: Any, **fields: Any) -> Any:
        if next(n_failures, None) is not None:
            raise OperationalError("the server is not back yet")
        return account_scope(*args, **fields)

    def broken(*args: object, **fields: object) -> None:
        monkeypatch.setattr("evalsvc.rest.idempotency.account_scope", away)
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr("evalsvc.accounts.views.finish_claim", broken)
    assert_problem(alice.post("/v1/projects", {"name": "gone"}, Idempotency_Key="k"), "unavailable")
    monkeypatch.setattr("evalsvc.accounts.views.finish_claim", finish_claim)

    wait_until(lambda: not records(alice).exists())
    assert alice.post("/v1/projects", {"name": "gone"}, Idempotency_Key="k").status_code == 200


def crash(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Die between the claim and the commit."""

    def die(*args: Any, **kwargs: Any) -> None:
        raise Crash

    monkeypatch.setattr("evalsvc.evaluations.evaluate.captures.capture", die)
    with pytest.raises(Crash):
        caller.post("/v1/evaluate", EVALUATE, Idempotency_Key="k")
    monkeypatch.undo()


def test_a_claim_whose_process_died_ends_with_its_lease(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    crash(alice, monkeypatch)
    assert_problem(alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k"), "in_progress")

    records(alice).update(lease_expires_at="2026-01-01T00:00:00Z")
    assert_problem(
        alice.post("/v1/evaluate", EVALUATE | {"app": "other"}, Idempotency_Key="k"), "idempotency_key_reused"
    )
    first, second = (alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k") for _ in range(2))
    assert first.content == second.content
    assert len(scores_of(alice, "exact-match")) == 1


def test_a_sleeper_whose_claim_was_taken_writes_nothing(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalsvc.evaluations.evaluate import captures

    # The app is there already: otherwise the second request would wait for the first one to make it.
    alice.post("/v1/evaluate", EVALUATE)
    capture, seen = captures.capture, []

    def overtaken(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        records(alice).update(lease_expires_at="2026-01-01T00:00:00Z")
        seen.append(elsewhere(lambda: alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k")))
        return capture(*args, **kwargs)

    monkeypatch.setattr(captures, "capture", overtaken)
    assert_problem(alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k"), "in_progress")

    assert len(scores_of(alice, "exact-match")) == 2
    assert alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k").content == seen[0].content


def test_after_a_day_the_key_is_new(alice: Caller) -> None:
    alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k")
    records(alice).update(created_at="2026-01-01T00:00:00Z")

    assert "Idempotency-Replayed" not in alice.post("/v1/evaluate", EVALUATE | {"app": "new"}, Idempotency_Key="k")


@pytest.mark.parametrize("key", ["", "x" * 256, "caf\xe9", "a\tb", "a\x00b", "a\x7f"])
def test_it_refuses_a_key_that_is_none(alice: Caller, key: str) -> None:
    assert_problem(alice.post("/v1/evaluate", EVALUATE, Idempotency_Key=key), "validation_failed", "")
    assert scores_of(alice, "exact-match") == []


def test_a_key_does_not_help_a_reader(bob: Caller) -> None:
    assert_problem(bob.post("/v1/evaluate", EVALUATE, Idempotency_Key="k"), "read_only_key")
    assert not records(bob).exists()


def test_the_answer_of_accepted_work_is_kept_with_its_address(alice: Caller) -> None:
    headers = {"Idempotency_Key": "k", "Prefer": "respond-async"}
    first, second = (alice.post("/v1/evaluate", EVALUATE, **headers) for _ in range(2))

    assert (first.status_code, second.status_code) == (202, 202)
    assert first.content == second.content
    assert first["Location"] == second["Location"] == f"/v1/evaluate/{first.json()['id']}"
    assert second["Preference-Applied"] == "respond-async"


def test_a_profile_is_made_once_by_many_names_of_the_key(alice: Caller) -> None:
    for key in ("one", "two"):
        alice.post("/v1/evaluator-criteria", PROFILE, Idempotency_Key=key)

    assert Profile.objects.using("system").filter(account_id=alice.account.pk).count() == 1
    answer = alice.post("/v1/evaluator-criteria", PROFILE, Idempotency_Key="three")
    assert_problem(answer, "already_exists", "/name")
