"""Endpoints that misbehave: every failure has a type and no score, and the other configs run on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from benchmarks.stub_llm import RunningStub, running_stub
from evalsvc.experiments.decisions import step
from tests.conftest import Caller, new_caller
from tests.experiments.conftest import (
    by_name,
    chat,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.faults.experiment_tools import check_books, state_of

pytestmark = pytest.mark.slow

N = 3
GOOD = "stub-accuracy-0.80-c"
# The type of the failure, and how often each example is asked: again only where that may help.
FAILURES = {
    "stub-500": ("connection", 3),
    "stub-cut": ("connection", 3),
    "stub-garbage": ("bad_output", 1),
    "stub-html": ("bad_output", 1),
    "stub-odd": ("bad_output", 1),
    "stub-empty": ("bad_output", 1),
    "stub-huge": ("bad_output", 1),
    "stub-gzip": ("bad_output", 1),
    "stub-refusal": ("refused", 1),
    "stub-context": ("refused", 1),
    "stub-hang": ("timeout", 3),
    "stub-trickle": ("timeout", 3),
}
# Nothing can be asked until somebody changes something: the config ends, and no example is spoilt.
STOPS = {
    "stub-quota": ("stopped", "budget"),
    "stub-401": ("failed", "error"),
    "stub-400": ("failed", "error"),
    "stub-redirect": ("failed", "error"),
}
SLOW: dict[str, dict[str, Any]] = {"stub-hang": {"timeout_seconds": 1}, "stub-trickle": {"timeout_seconds": 1}}


class Outcome:
    """One experiment with a config for every way to misbehave, and one that is well."""

    def __init__(self, stub: RunningStub) -> None:
        self.caller = new_caller(name="endpoints")
        connection = make_connection(self.caller, stub.base_url, key="sk-very-secret-4711")
        configs = [chat(connection, model, **SLOW.get(model, {})) for model in (GOOD, *FAILURES, *STOPS)]
        # A connection of its own: a 429 lets everybody on the same connection and model wait.
        configs.append(chat(make_connection(self.caller, stub.base_url), "stub-429"))
        dataset = make_dataset(self.caller, n=N)
        self.id = make_experiment(self.caller, dataset, configs, micro_batch=1)["id"]
        # What waits for an outage to end is tested beside the scores that do.
        with override_settings(JUDGE_PATIENCE_SECONDS=0):
            run_units(n_runners=24, idle_seconds=2)
        self.view = live(self.caller, self.id)
        self.configs = by_name(self.view)
        self.calls = stub.calls()["by_model"]

    def results(self, model: str) -> list[Any]:
        path = f"/v1/experiments/{self.id}/results?config_id={self.configs[model]['id']}"
        return ok(self.caller.get(path))["results"]


@pytest.fixture(scope="module")
def stub() -> Iterator[RunningStub]:
    with running_stub() as running:
        yield running


@pytest.fixture
def slow_stub() -> Iterator[RunningStub]:
    with running_stub(latency_ms=20) as running:
        yield running


@pytest.fixture(scope="module")
def outcome(stub: RunningStub) -> Outcome:
    return Outcome(stub)


@pytest.mark.parametrize("model", FAILURES)
def test_a_failure_has_a_type_and_no_score(outcome: Outcome, model: str) -> None:
    error_type, n_calls = FAILURES[model]
    rows = outcome.results(model)
    assert [row["error_type"] for row in rows] == [error_type] * N
    assert {row["status"] for row in rows} == {"timeout" if error_type == "timeout" else "error"}
    assert [row["scores"]["accuracy"]["value"] for row in rows] == [None] * N
    # On a machine that stands still a call's time can be up before the endpoint hears of it.
    fewest = 1 if error_type == "timeout" else N * n_calls
    assert fewest <= outcome.calls[model] <= N * n_calls
    config = outcome.configs[model]
    assert (config["state"], config["n_ok"], config["n_error"]) == ("failed", 0, N)
    estimate = config["metrics"]["accuracy"]
    # What a config fails to answer counts as wrong; what an outage took has no value.
    value, upper = (None, 1.0) if error_type == "connection" else (0.0, 0.0)
    assert (estimate["n"], estimate["n_error"], estimate["value"]) == (0, N, value)
    assert estimate["bounds_if_failures"] == {"lower": 0.0, "upper": upper}


@pytest.mark.parametrize("model", STOPS)
def test_what_concerns_every_example_stops_the_config(outcome: Outcome, model: str) -> None:
    config = outcome.configs[model]
    assert (config["state"], config["stop_reason"]) == STOPS[model]
    assert (config["n_ok"], config["n_error"], outcome.results(model)) == (0, 0, [])
    # Each of its units may have been on its way.
    assert outcome.calls[model] <= N
    (decision,) = [row for row in outcome.view["decisions"] if row["config_id"] == config["id"]]
    assert decision["evidence"]["detail"]


def test_a_config_that_is_well_is_not_harmed(outcome: Outcome) -> None:
    config = outcome.configs[GOOD]
    assert (config["state"], config["n_ok"], config["n_error"]) == ("completed", N, 0)
    assert outcome.calls[GOOD] == N


def test_a_429_that_passes_is_waited_for(outcome: Outcome) -> None:
    config = outcome.configs["stub-429"]
    assert (config["state"], config["n_ok"], config["n_error"]) == ("completed", N, 0)
    assert outcome.calls["stub-429"] == 2 * N


def test_the_experiment_ends_with_books_that_agree(outcome: Outcome) -> None:
    assert outcome.view["experiment"]["state"] == "done"
    check_books(outcome.caller, outcome.id)


def test_no_key_is_shown(outcome: Outcome) -> None:
    for path in ("", "/live", "/results", "/decisions", "/configs"):
        answer = outcome.caller.get(f"/v1/experiments/{outcome.id}{path}")
        assert answer.status_code == 200
        assert b"sk-very-secret" not in answer.content


def test_a_429_without_an_end_fails_the_config_and_spoils_no_example(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    before = stub.calls()["by_model"].get("stub-429-forever", 0)
    config = chat(connection, "stub-429-forever")
    experiment = make_experiment(alice, make_dataset(alice, n=20), [config], micro_batch=1)
    run_units(n_runners=2, idle_seconds=2)
    config = by_name(live(alice, experiment["id"]))["stub-429-forever"]
    assert (config["state"], config["stop_reason"], config["n_error"]) == ("failed", "error", 0)
    assert state_of(alice, experiment["id"]) == "failed"
    # Waves of at most two calls, six of them before the one that is too many.
    assert 7 <= stub.calls()["by_model"]["stub-429-forever"] - before <= 2 * 7
    assert recounted(alice, experiment["id"]) == []


def test_a_config_that_only_fails_ends_and_can_be_resumed(alice: Caller, slow_stub: RunningStub) -> None:
    connection = make_connection(alice, slow_stub.base_url)
    configs = [chat(connection, "stub-refusal"), chat(connection, GOOD)]
    experiment = make_experiment(alice, make_dataset(alice, n=100), configs)
    run_units(n_runners=2)
    found = by_name(live(alice, experiment["id"]))
    refusing = found["stub-refusal"]
    assert (refusing["state"], refusing["stop_reason"]) == ("failed", "error")
    assert 20 <= refusing["n_error"] < 100
    assert found[GOOD]["state"] == "completed"

    # What failed before it was resumed is no reason to fail it again.
    ok(alice.post(f"/v1/experiments/{experiment['id']}/configs/{refusing['id']}/resume"))
    step.step(account_id=alice.account.pk, experiment_id=int(experiment["id"]))
    assert by_name(live(alice, experiment["id"]))["stub-refusal"]["state"] == "running"
    run_units(n_runners=2)
    again = by_name(live(alice, experiment["id"]))["stub-refusal"]
    assert again["state"] in ("failed", "completed")
    assert again["n_error"] >= refusing["n_error"] + 20 or again["state"] == "completed"
    assert state_of(alice, experiment["id"]) == "done"
    assert recounted(alice, experiment["id"]) == []
