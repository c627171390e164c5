"""Retries: only what failed is tried again, once, and no race is decided anew."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from evalsvc.experiments.runner import store
from evalsvc.experiments.runner.generate import ConfigClient, GeneratedOutput, MustStop
from tests.conftest import Caller, scores_of, wait_until
from tests.experiments.claimed import claimed, outcome
from tests.experiments.conftest import by_name, chat, live, make_dataset, make_experiment, ok, recounted, run_units
from tests.experiments.pushing import PUSH, Runner, decisions, results, states

TWO = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]
CLEAN = {"name": "clean", "evaluator": "toxicity"}
EXACT = {"name": "accuracy", "evaluator": "exact-match"}
LATER = {"name": "later", "source": "client", "value_range": [0, 1]}
BLEU = {"name": "bleu", "evaluator": "metrics", "criteria": "compute-bleu"}


def retry(caller: Caller, made: Any, status: int = 200, **body: Any) -> Any:
    return ok(caller.post(f"/v1/experiments/{made['id']}/retry", body), status)


def run_failing(runner: Runner, failing: dict[int, str], wrong: set[int] | None = None) -> None:
    """Answer what there is, but for some positions that fail, each by its type."""
    while unit := runner.lease()["unit"]:
        rows = [
            {"pos": e["pos"], "error": {"type": failing[e["pos"]], "message": "no"}}
            if e["pos"] in failing
            else {"pos": e["pos"], "output": "wrong" if e["pos"] in (wrong or ()) else e["expected"]}
            for e in unit["examples"]
        ]
        runner.post(unit, rows)


FAILING = {2: "timeout", 3: "timeout", 11: "bug", 24: "timeout"}


def failed(caller: Caller, configs: Any = (PUSH,), n: int = 25, **plan: Any) -> Any:
    made = make_experiment(caller, make_dataset(caller, n=n), list(configs), **plan)
    for i in range(len(configs)):
        run_failing(Runner(caller, made, i), FAILING if i == 0 else {})
    return made


def metric(caller: Caller, made: Any, config: str = "mine", name: str = "accuracy") -> Any:
    return by_name(live(caller, made["id"]))[config]["metrics"][name]


def leased(runner: Runner) -> list[int]:
    unit = runner.lease()["unit"]
    return [] if unit is None else [e["pos"] for e in unit["examples"]]


def test_only_what_failed_of_these_types_is_leased_again(alice: Caller) -> None:
    made = failed(alice)
    answer = retry(alice, made, error_types=["timeout"])
    runner = Runner(alice, made)

    assert (answer["number"], answer["n_outputs"], answer["n_waiting"]) == (1, 3, 0)
    assert [leased(runner) for _ in range(3)] == [[2, 3], [24], []]


def test_new_answers_stand_in_the_place_of_failures(alice: Caller) -> None:
    made = failed(alice)
    before = metric(alice, made)
    retry(alice, made)
    run_failing(Runner(alice, made), {}, wrong={3})
    after = metric(alice, made)

    assert (before["n"], before["n_error"], after["n"], after["n_error"]) == (21, 4, 25, 0)
    assert after["value"] == pytest.approx(24 / 25)
    (config,) = live(alice, made["id"])["configs"]
    assert (config["n_ok"], config["n_error"], config["state"]) == (25, 0, "completed")
    assert results(alice, made, "status=failed") == []
    assert len(results(alice, made)) == 25
    assert recounted(alice, made["id"]) == []


def test_a_second_order_tries_nothing_twice(alice: Caller) -> None:
    made = failed(alice)
    retry(alice, made, error_types=["bug"])
    again = retry(alice, made)

    assert (again["n_outputs"], again["n_waiting"]) == (3, 1)
    third = retry(alice, made)
    assert (third["number"], third["n_outputs"], third["n_waiting"]) == (None, 0, 4)
    run_failing(Runner(alice, made), {})
    assert metric(alice, made)["n"] == 25
    assert retry(alice, made)["n_outputs"] == 0
    assert recounted(alice, made["id"]) == []


def test_what_fails_again_stays_failed_and_can_be_tried_again(alice: Caller) -> None:
    made = failed(alice)
    retry(alice, made)
    run_failing(Runner(alice, made), {2: "refused"})

    assert [row["error_type"] for row in results(alice, made, "status=failed")] == ["refused"]
    assert recounted(alice, made["id"]) == []
    assert retry(alice, made)["n_outputs"] == 1
    run_failing(Runner(alice, made), {})
    assert metric(alice, made)["n"] == 25
    assert recounted(alice, made["id"]) == []


def answer_next(runner: Runner, failing: dict[int, str], text: str | None) -> bool:
    """Answer one unit; False when there is none."""
    if (unit := runner.lease()["unit"]) is None:
        return False
    rows = [
        {"pos": e["pos"], "error": {"type": failing[e["pos"]]}}
        if e["pos"] in failing
        else {"pos": e["pos"], "output": text or e["expected"]}
        for e in unit["examples"]
    ]
    runner.post(unit, rows)
    return True


def evidence(made: Any) -> Any:
    from evalsvc.experiments.models import Evidence, Look

    rows = Evidence.objects.using("system").filter(experiment_id=made["id"]).order_by("id")
    looks = Look.objects.using("system").filter(config__experiment_id=made["id"]).order_by("id")
    return list(rows.values()), list(looks.values())


@pytest.mark.parametrize("failures", ["exclude", "worst"])
def test_no_race_is_decided_anew(alice: Caller, failures: str) -> None:
    made = make_experiment(alice, make_dataset(alice, n=60), TWO, policy="race_default", failures=failures)
    runners = [Runner(alice, made, i) for i in range(2)]
    failing = dict.fromkeys(range(3, 60, 4), "timeout")
    while any([answer_next(runners[0], failing, "wrong"), answer_next(runners[1], {}, None)]):
        pass
    before, decided, stood = evidence(made), decisions(alice, made), states(alice, made)
    retry(alice, made)
    run_failing(runners[0], {})

    assert decided
    assert len(before[0]) == 2
    assert evidence(made) == before
    assert (decisions(alice, made), states(alice, made)) == (decided, stood)
    assert results(alice, made, "status=failed") == []
    assert recounted(alice, made["id"]) == []


def test_comparisons_are_of_what_stands_there_now(alice: Caller) -> None:
    made = failed(alice, TWO)
    before = by_name(live(alice, made["id"]))
    retry(alice, made)
    run_failing(Runner(alice, made), {}, wrong=set(FAILING))
    after = by_name(live(alice, made["id"]))["a"]["versus_leader"]

    assert {row["versus_leader"]["n"] for row in before.values() if row["versus_leader"]} == {25}
    assert (after["n"], after["n_missing"], after["delta"]) == (25, 0, pytest.approx(-4 / 25))
    assert recounted(alice, made["id"]) == []


def test_a_run_that_goes_on_meanwhile_counts_everything_once(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO)
    runners = [Runner(alice, made, i) for i in range(2)]
    unit = runners[0].lease()["unit"]
    runners[0].post(unit, [{"pos": e["pos"], "error": {"type": "bug"}} for e in unit["examples"]])
    assert retry(alice, made)["n_outputs"] == 10
    for runner in runners:
        run_failing(runner, {})

    assert {name: state for name, (state, _) in states(alice, made).items()} == {"a": "completed", "b": "completed"}
    assert metric(alice, made, "a")["n"] == 40
    assert recounted(alice, made["id"]) == []


def test_one_that_never_answered_completes(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=5), [PUSH])
    run_failing(Runner(alice, made), dict.fromkeys(range(5), "timeout"))
    assert states(alice, made) == {"mine": ("failed", "error")}
    retry(alice, made)
    run_failing(Runner(alice, made), {})

    assert states(alice, made) == {"mine": ("completed", None)}
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert recounted(alice, made["id"]) == []


def test_metrics_that_were_added_see_the_new_answers(alice: Caller) -> None:
    made = failed(alice)
    ok(alice.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": [BLEU, LATER]}))
    run_units()
    given = [{"output_id": row["id"], "value": 0.5} for row in results(alice, made, "status=ok&metric=accuracy")]
    path = f"/v1/experiments/{made['id']}/scores"
    assert ok(alice.post(path, {"metric": "later", "scores": given}))["n_accepted"] == 21
    retry(alice, made)
    run_failing(Runner(alice, made), {})
    run_units()

    assert (metric(alice, made, name="bleu")["n"], metric(alice, made, name="later")["n_pending"]) == (25, 23)
    assert recounted(alice, made["id"]) == []
    given = [{"output_id": row["id"], "value": 1.0} for row in results(alice, made)]
    assert ok(alice.post(path, {"metric": "later", "scores": given}))["n_accepted"] == 4
    assert metric(alice, made, name="later")["value"] == pytest.approx((21 * 0.5 + 4) / 25)
    assert recounted(alice, made["id"]) == []


def test_workers_score_what_the_caller_has_answered_again(alice: Caller) -> None:
    made = failed(alice, metrics=[EXACT, CLEAN])
    run_units()
    assert metric(alice, made, name="clean")["n"] == 21
    retry(alice, made)
    run_failing(Runner(alice, made), {})
    run_units()

    assert metric(alice, made, name="clean")["n"] == metric(alice, made)["n"] == 25
    assert len(scores_of(alice, "toxicity")) == 25
    assert recounted(alice, made["id"]) == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often each example was asked for; every fourth fails the first time."""
    counts: Counter[str] = Counter()

    def produce(asking: ConfigClient, example: Any) -> GeneratedOutput:
        counts[example["id"]] += 1
        if counts[example["id"]] == 1 and int(example["id"]) % 4 == 0:
            return GeneratedOutput("timeout", error_type="timeout", error_message="late", cost=0.5, input_tokens=3)
        return GeneratedOutput(output={"output": example["expected"]}, cost=0.25, input_tokens=2)

    monkeypatch.setattr("evalsvc.experiments.runner.units.pipelines.produce", produce)
    yield counts


def chatting(caller: Caller, n: int = 20) -> Any:
    caller.post("/v1/connections", {"name": "nobody", "base_url": "http://127.0.0.1:9/v1", "model": "m", "key": "k"})
    examples = [{"id": str(i), "input": f"q{i}", "expected": f"a{i}"} for i in range(n)]
    return make_experiment(caller, make_dataset(caller, examples), [chat("nobody", "m", "mine")])


def test_workers_ask_for_what_failed_and_for_nothing_else(alice: Caller, asked: Counter[str]) -> None:
    made = chatting(alice)
    run_units()
    assert (sum(asked.values()), metric(alice, made)["n_error"]) == (20, 5)
    assert retry(alice, made)["n_outputs"] == 5
    run_units()

    assert asked == Counter({str(i): 2 if i % 4 == 0 else 1 for i in range(20)})
    (config,) = live(alice, made["id"])["configs"]
    # What the failed queries have cost stays spent.
    assert (config["n_ok"], config["cost"]) == (20, pytest.approx(5 * 0.5 + 20 * 0.25))
    assert metric(alice, made)["n"] == 20
    assert recounted(alice, made["id"]) == []
    assert len(scores_of(alice, "exact-match")) == 20


def test_a_lost_lease_writes_nothing_and_what_it_has_kept_is_not_asked_again(
    alice: Caller, asked: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalsvc.experiments.models import Output, WorkUnit

    made = chatting(alice, n=8)
    with monkeypatch.context() as patched:
        patched.setattr(
            "evalsvc.experiments.runner.units.pipelines.produce", lambda *_: GeneratedOutput("error", error_type="bug")
        )
        run_units()
    assert retry(alice, made)["n_outputs"] == 8
    (unit,) = claimed(1)
    whole = outcome(unit, text="first")
    half = store.Outcome(unit, whole.outputs[:3], [s for s in whole.scores if s["pos"] < unit.from_pos + 3], "keep")
    store.record_units([half], lease_seconds=60)
    # As a kill -9 leaves it: a lease that ends, and a worker that may yet wake up.
    WorkUnit.objects.using("system").filter(pk=unit.id).update(lease_expires_at="2020-01-01T00:00:00Z")
    asked.update(str(i) for i in range(8))
    run_units()
    (late,) = store.record_units([whole], lease_seconds=60)

    assert late is not None
    assert not late.is_held
    rows = Output.objects.using("system").filter(experiment_id=made["id"])
    texts = list(rows.values_list("output__output", flat=True))
    assert sorted(text == "first" for text in texts) == [False] * 5 + [True] * 3
    assert sum(asked.values()) - 8 == 5
    assert metric(alice, made)["n"] == 8
    assert recounted(alice, made["id"]) == []


def test_a_config_that_cannot_be_asked_ends_the_retry_and_is_not_stopped(
    alice: Caller, asked: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = chatting(alice)
    run_units()
    retry(alice, made)

    def refuse(asking: ConfigClient, example: Any) -> GeneratedOutput:
        raise MustStop("error", "The connection is switched off.")

    monkeypatch.setattr("evalsvc.experiments.runner.units.pipelines.produce", refuse)
    run_units()

    assert states(alice, made) == {"mine": ("completed", None)}
    assert {row["error_type"] for row in results(alice, made, "status=failed")} == {"not_configured"}
    assert recounted(alice, made["id"]) == []


def test_scores_that_failed_are_worked_out_again_and_no_output_is(
    alice: Caller, asked: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalsvc.experiments.runner.score import failed_score
    from evalsvc.experiments.runner.score import score_output as real

    made = chatting(alice)

    def failing(**options: Any) -> Any:
        rows = real(**options)
        metrics = {one.name: one for one in options["metrics"]}
        return [
            failed_score(row["pos"], metrics[row["metric"]], "judge_failed", "away") if row["pos"] < 6 else row
            for row in rows
        ]

    monkeypatch.setattr("evalsvc.experiments.runner.units.samples.score_output", failing)
    run_units()
    n_failed = metric(alice, made)["n_error"]
    n_ok = len(results(alice, made, "status=error&metric=accuracy"))
    monkeypatch.setattr("evalsvc.experiments.runner.units.samples.score_output", real)
    assert retry(alice, made, what="scores", error_types=["timeout"])["n_outputs"] == 0
    assert retry(alice, made, what="scores", error_types=["judge_failed"])["n_outputs"] == n_ok > 0
    n_asked = sum(asked.values())
    run_units()

    assert sum(asked.values()) == n_asked
    assert metric(alice, made)["n_error"] == n_failed - n_ok
    assert recounted(alice, made["id"]) == []
    assert len(scores_of(alice, "exact-match")) == metric(alice, made)["n"]


def test_readers_are_refused_and_strangers_find_nothing(alice: Caller, bob: Caller, charlie: Caller) -> None:
    made = failed(alice)
    assert bob.post(f"/v1/experiments/{made['id']}/retry", {}).json()["code"] == "read_only_key"
    retry(charlie, made, 404)
    theirs = failed(charlie, n=3)
    answer = retry(alice, made, 422, config_ids=[theirs["configs"][0]["id"]])
    assert answer["errors"][0]["pointer"] == "/config_ids/0"
    assert retry(alice, made, 422, what="all")["errors"][0]["pointer"] == "/what"


def test_kill_9_loses_nothing_and_counts_nothing_twice(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalsvc.experiments.models import Output

    made = chatting(alice, n=60)
    path = "evalsvc.experiments.runner.units.pipelines.produce"
    with monkeypatch.context() as patched:
        patched.setattr(path, lambda *_: GeneratedOutput("error", error_type="bug"))
        run_units()
    assert retry(alice, made)["n_outputs"] == 60
    worker = subprocess.Popen([sys.executable, "-m", "tests.experiments.slow_worker"])
    mended = Output.objects.using("system").filter(experiment_id=made["id"], status="ok")
    wait_until(lambda: mended.count() >= 5, seconds=30)
    worker.kill()
    worker.wait()
    n_mended = mended.count()
    monkeypatch.setattr(path, lambda asking, example: GeneratedOutput(output={"output": example["expected"]}))
    wait_until(lambda: run_units() is None and mended.count() == 60, seconds=30)

    assert 5 <= n_mended < 60
    (config,) = live(alice, made["id"])["configs"]
    assert (config["n_ok"], config["n_error"], config["metrics"]["accuracy"]["value"]) == (60, 0, 1.0)
    assert len(scores_of(alice, "exact-match")) == 60
    assert recounted(alice, made["id"]) == []
