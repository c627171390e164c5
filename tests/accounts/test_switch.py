"""An account that is off: refused everywhere, worked on by nobody, and the same again when it is on."""

from __future__ import annotations

import uuid
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import timezone

from evalsvc.accounts.models import AuditEntry, Member, User
from evalsvc.accounts.selectors import list_memberships
from evalsvc.accounts.services import add_member
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.workers.computing import store as computing
from evalsvc.evaluations.workers.computing import wakeups
from evalsvc.experiments.runner import store as units
from tests.conftest import Caller, new_caller
from tests.factories import chat, make_connection, make_dataset, make_experiment
from tests.rest.shapes import assert_problem
from tests.work.judging_tools import claim, profile, waits


def switch(to: str, caller: Caller, *options: str) -> str:
    out = StringIO()
    call_command("switch_account", to, caller.account.name, *options, stdout=out)
    return out.getvalue()


def off(caller: Caller) -> str:
    return switch("off", caller, "--reason", "unpaid")


def test_its_keys_and_its_members_are_refused_until_it_is_on(alice: Caller, charlie: Caller) -> None:
    person = User.objects.db_manager("system").create_user(f"{uuid.uuid4().hex}@example.com", is_staff=True)
    add_member(account=alice.account, user=person, role=Member.Role.ADMIN)
    assert alice.get("/v1/whoami").status_code == 200

    assert "is now off" in off(alice)
    answer = alice.get("/v1/whoami")
    assert_problem(answer, "account_off")
    assert "operator" in answer.json()["remedy"]
    assert_problem(alice.post("/v1/evaluate", {"evaluators": [{"evaluator": "pii"}], "output": "x"}), "account_off")
    wrong = Caller(alice.account, alice.key[:-4] + "xxxx")
    assert_problem(wrong.get("/v1/whoami"), "unauthenticated")
    assert list_memberships(user=person) == []
    assert charlie.get("/v1/whoami").status_code == 200
    assert "is already off" in off(alice)

    assert "is now on" in switch("on", alice)
    assert alice.get("/v1/whoami").status_code == 200
    assert [row.account_id for row in list_memberships(user=person)] == [alice.account.pk]
    trail = AuditEntry.objects.using("system").filter(account=alice.account, action__startswith="account.switched")
    assert list(trail.order_by("id").values_list("action", "actor", "detail")) == [
        ("account.switched_off", "operator", {"reason": "unpaid"}),
        ("account.switched_on", "operator", {"reason": ""}),
    ]


def test_off_needs_a_reason_and_an_account(alice: Caller) -> None:
    with pytest.raises(CommandError, match="--reason"):
        switch("off", alice)
    with pytest.raises(CommandError, match="There is no account"):
        call_command("switch_account", "off", "nobody-of-that-name", "--reason", "x")
    assert alice.get("/v1/whoami").status_code == 200


def computed(caller: Caller) -> list[Any]:
    return [one for one in computing.claim_computing(limit=1000) if one.account_id == caller.account.pk]


def test_workers_begin_nothing_of_it(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KEY", "CALLED_KEY"):
        monkeypatch.setattr(wakeups, name, f"test:{name}:{uuid.uuid4()}")
    monkeypatch.setattr(wakeups, "start_process", lambda: True)
    # What other tests have left pending is claimed alone.
    others = Evaluation.objects.using("system").filter(status="pending", lane="cpu")
    others.update(n_attempts=1, lease_expires_at=timezone.now() + timedelta(days=1))
    with override_settings(INLINE_LANE="worker"):
        sent = alice.evaluate(
            "exact-match", output="x", gold_answer="x", app="work", headers={"prefer": "respond-async"}
        )
        assert sent.status_code == 202, sent.content
    waits(alice, profile(alice), 2)
    connection = make_connection(alice, "https://llm.example.com/v1")
    make_experiment(alice, make_dataset(alice, n=10), [chat(connection, "model")])
    off(alice)

    lease: dict[str, Any] = {"limit": 100, "n_runners": 1, "lease_seconds": 0}
    lease |= {"excluded_accounts": [], "blocked_configs": []}

    def begun() -> tuple[int, int, int]:
        judged = [one for one in claim() if one.account_id == alice.account.pk]
        claimed = [unit for unit in units.claim_units(**lease) if unit.account_id == alice.account.pk]
        return len(computed(alice)), len(judged), len(claimed)

    assert begun() == (0, 0, 0)
    switch("on", alice)
    n_computed, n_judged, n_units = begun()
    assert (n_computed, n_judged) == (1, 2)
    assert n_units > 0


def test_an_account_that_is_off_does_not_stand_in_the_way_of_others() -> None:
    alice, charlie = new_caller(name="alice"), new_caller(name="charlie")
    for caller in (alice, charlie):
        waits(caller, profile(caller), 1)
    off(alice)

    assert {one.account_id for one in claim()} & {alice.account.pk, charlie.account.pk} == {charlie.account.pk}
