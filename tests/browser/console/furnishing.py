"""What is in the account that a browser looks at, so that each page has something to show."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from tests.admin.conftest import join, key_of, new_user
from tests.browser.console.pages import Found
from tests.comparisons.shapes import answered, compare, work_off
from tests.console.comparing import raced
from tests.console.evaluations import judged
from tests.evaluations.histories import insert
from tests.events.shapes import new_endpoint, send_test_event, told
from tests.factories import ok
from tests.gates.shapes import ask
from tests.monitors.shapes import advance, alarms, new_monitor, send, verdicts
from tests.nightly.shapes import execute, new_benchmark
from tests.reviews.shapes import answered_experiment, new_review, pairs_of
from tests.rules.shapes import answered as answered_span
from tests.rules.shapes import new_rule
from tests.rules.shapes import run as run_rule
from tests.rules.shapes import send as send_spans


def scores(caller: Any) -> Found:
    """Histories: of two apps, by two revisions, and one of scores made elsewhere."""
    insert(caller, [1.0, 0.0, 1.0, 1.0] * 20, app="shop", revision=1)
    insert(caller, [1.0, 0.0] * 10, app="desk", revision=2)
    insert(caller, [0.2, 4.0, 3.1, 2.5] * 5, evaluator_id="external:grade", profile_name="")
    return {}


def people(caller: Any) -> Found:
    """The key that the account was made with, a member, and an invitation that is open."""
    from evalsvc.accounts.invitations import invite
    from evalsvc.accounts.models import Member
    from evalsvc.accounts.selectors import list_members
    from evalsvc.tenancy.scope import account_scope

    user, host = new_user(), new_user()
    join(user, caller.account, "editor")
    join(host, caller.account, "admin")  # whoever invites must be one still when the link is opened
    with account_scope(caller.account.pk):
        member = list_members(account=caller.account).get(user=user)
    _, token = invite(
        account=caller.account,
        email="ann@example.com",
        role=Member.Role.READER,
        expires_at=timezone.now() + timedelta(days=7),
        actor=f"user:{host.pk}",
    )
    return {"key": key_of(caller).pk, "member": member.pk, "invitation": token}


def hooks(caller: Any) -> Found:
    """A webhook whose test event has found nobody, and one that was never tried."""
    made = new_endpoint(caller, url="http://127.0.0.1:9/hooks", event_types=["evaluation.failed", "decision.made"])
    sent = send_test_event(caller, made["id"])
    told()
    new_endpoint(caller)
    return {"webhook": made["id"], "delivery": sent["id"]}


def reviewed(caller: Any) -> Found:
    """A review of pairs: the queue shows two texts side by side."""
    review = new_review(caller, pairs_of(answered_experiment(caller, 3)), n_answers=2, instructions="Which helps more?")
    return {"review": review["id"]}


def saved(caller: Any) -> Found:
    """Two searches, one of them open at a page above."""
    ok(
        caller.post("/v1/saved-searches", {"name": "Failures of the shop", "query": {"app": "shop", "result": "fail"}}),
        201,
    )
    ok(caller.post("/v1/saved-searches", {"name": "This week", "query": {"period": "7d"}}), 201)
    return {}


BODY = {"name": "house", "base_url": "http://127.0.0.1:9/v1", "model": "small-1", "key": "sk-0123456789abcdefghij"}


def judges(caller: Any) -> Found:
    """A connection that has been called in vain."""
    prices = {"price_input_per_million": 1, "price_output_per_million": 2}
    row = ok(caller.post("/v1/connections", BODY | prices | {"daily_budget": 5}), 201)["connection"]
    ok(caller.post(f"/v1/connections/{row['id']}/test"))
    return {"connection": row["id"]}


def gated(caller: Any) -> Found:
    """A gate about what was captured."""
    history = {"evaluator": "exact-match", "criteria": "patronus:exact-match"}
    return {"gate": ask(caller, {"history": history}, {"metric": "pass", "at_least": 0.5}, name="traffic")["id"]}


def alarmed(caller: Any) -> Found:
    """A monitor of an app, which has raised its alarm."""
    # Of a history that no other page shows.
    evaluator = "exact-match-normalised"
    scored = {"evaluators": [{"evaluator": evaluator}], "app": "till"}
    send(caller, verdicts(100, 10), **scored)
    made = new_monitor(caller, name="answers of the till", evaluator=evaluator, scope={"app": "till"})
    send(caller, verdicts(60, 2), **scored)
    advance()
    (alarm,) = alarms(caller, f"monitor_id={made['id']}")
    return {"alarm": alarm["id"]}


def ruled(caller: Any) -> Found:
    """A rule with a span in its preview and one that was dropped; no score, as that would be in a history."""
    send_spans(caller, answered_span("Ada.", kind="LLM"), service="depot")
    wanted = {"service_name": "depot", "kind": "llm"}
    rule = new_rule(caller, name="answers of the depot", filter=wanted, sampling={"rate": 0.5}, cap_per_hour=500)
    for _ in range(20):
        send_spans(caller, answered_span(None, kind="LLM"), service="depot")
    return {"rule": run_rule(caller, rule)["id"]}


def benchmarked(caller: Any) -> Found:
    """A benchmark that was executed twice."""
    benchmark = new_benchmark(caller, n=20)
    for wrong in (set(range(6)), {1}):
        execute(caller, benchmark, wrong, model=f"m-{len(wrong)}")
    return {"benchmark": benchmark["id"]}


def ranked(caller: Any) -> Found:
    """A ranking of two configs that is done."""
    made = compare(caller, answered(caller))
    work_off(caller, made)
    return {"ranking": made["id"]}


# What must be in the account for the pages of `pages.py`: called once with the caller; returns names for the addresses.
FURNISHERS: tuple[Callable[[Any], Found], ...] = (
    scores,
    saved,
    judged,
    raced,
    people,
    hooks,
    reviewed,
    judges,
    gated,
    alarmed,
    ruled,
    benchmarked,
)
if os.environ.get("EVALSVC_ALL_PAGES"):
    FURNISHERS += (ranked,)
