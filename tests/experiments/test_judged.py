"""Metrics that a judge scores: asked by the scheduler, of the account's own connection, with errors that are no scores."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from django.db import OperationalError

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.runner import score
from evalsvc.judges import gateway
from evalsvc.judges.connections import memory
from tests.conftest import Caller
from tests.experiments.conftest import (
    by_name,
    chat,
    finish,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.experiments.pushing import PUSH, Runner
from tests.factories import make_profile


def judged(caller: Caller, base_url: str, model: str, *, n: int = 8, **connection: Any) -> dict[str, Any]:
    """Run one config whose outputs a judge of this model scores; return what is seen of it."""
    name = make_connection(caller, base_url, **connection)
    config = {"pass_criteria": "The MODEL OUTPUT is polite.", "model": model, "connection": name}
    criteria = make_profile(caller, "judge", **config)["name"]
    metric = {"name": "polite", "evaluator": "judge", "criteria": criteria, "source": "score"}
    asked = make_connection(caller, base_url)
    experiment = make_experiment(
        caller, make_dataset(caller, n=n), [chat(asked, "stub-accuracy-0.60-a", "only")], metrics=[metric]
    )
    finish(caller, experiment["id"])
    assert recounted(caller, experiment["id"]) == []
    return {**by_name(live(caller, experiment["id"]))["only"], "id": experiment["id"]}


def test_a_judge_scores_every_output(alice: Caller, stub: RunningStub) -> None:
    found = judged(alice, stub.base_url, "stub-judge-0.75")["metrics"]["polite"]

    assert (found["n"], found["N"], found["n_error"]) == (8, 8, 0)
    assert found["value"] == 0.75


def test_what_a_judge_fails_at_is_an_error_and_no_score(alice: Caller, stub: RunningStub) -> None:
    found = judged(alice, stub.base_url, "stub-judge-pass:types", n=3)["metrics"]["polite"]

    assert (found["n"], found["n_error"]) == (0, 3)


def test_a_stall_of_the_database_is_no_error(alice: Caller, stub: RunningStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each second reading of the judge's connection meets one; the output is scored again, and asked for once."""
    read, count = gateway.connection_facts, itertools.count(1)  # type: ignore[attr-defined]  # as it is patched

    def read_or_break(**which: Any) -> Any:
        if next(count) % 2 == 0:
            raise OperationalError("server closed the connection")
        return read(**which)

    monkeypatch.setattr(gateway, "connection_facts", read_or_break)
    monkeypatch.setattr(memory, "BELIEVED_SECONDS", 0.0)
    monkeypatch.setattr(score, "STALL_PAUSES", (0.01,) * 6)
    stub.reset()
    found = judged(alice, stub.base_url, "stub-judge-pass", n=6)["metrics"]["polite"]

    assert (found["n"], found["n_error"]) == (6, 0)
    assert next(count) > 6 and stub.calls()["total"] == 12


def test_a_slot_waits_for_the_judge_s_turn(alice: Caller, stub: RunningStub) -> None:
    found = judged(alice, stub.base_url, "stub-judge-pass@300", n=6, max_concurrency=1)["metrics"]["polite"]

    assert (found["n"], found["n_error"]) == (6, 0)


def test_judging_is_not_the_config_s_cost(alice: Caller, stub: RunningStub) -> None:
    prices = {"price_input_per_million": 1000, "price_output_per_million": 1000}
    found = judged(alice, stub.base_url, "stub-judge-pass", n=3, **prices)

    assert found["cost"] == 0
    spent = [row["spent_today"] for row in ok(alice.get("/v1/connections"))["connections"]]
    assert max(spent) > 0


def test_a_judge_scores_what_a_client_sent(alice: Caller, stub: RunningStub) -> None:
    name = make_connection(alice, stub.base_url)
    config = {"pass_criteria": "The MODEL OUTPUT is polite.", "model": "stub-judge-0.5@200", "connection": name}
    make_profile(alice, "judge", "polite", **config)
    metric = {"name": "polite", "evaluator": "judge", "criteria": "polite", "source": "score"}
    experiment = make_experiment(alice, make_dataset(alice, n=6), [PUSH], metrics=[metric])
    Runner(alice, experiment).run()
    run_units()

    found = by_name(live(alice, experiment["id"]))["mine"]["metrics"]["polite"]
    assert (found["n"], found["n_error"], found["value"]) == (6, 0, 0.5)
