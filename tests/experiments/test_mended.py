"""Cases that a review found: each of them was wrong once."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.runner.generate import ConfigClient, GeneratedOutput, produce
from evalsvc.experiments.runner.units.unit import MAX_LEASES
from tests.conftest import Caller, wait_until
from tests.experiments.conftest import (
    EXACT,
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
from tests.experiments.pushing import Runner

TWO = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]


def test_a_config_stopped_in_a_draft_can_wait_again(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), TWO[:1], start=False)
    path = f"/v1/experiments/{made['id']}"
    ok(alice.post(f"{path}/configs/stop", {"config_ids": "all"}))
    assert ok(alice.post(f"{path}/configs/resume", {"config_ids": "all"}))["configs"][0]["state"] == "queued"
    assert ok(alice.post(f"{path}/start"))["experiment"]["plan"]["state"] == "running"


def test_a_config_that_was_deleted_since_has_changed_too(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), TWO)
    a, b = (config["id"] for config in made["configs"])
    alice.call("DELETE", f"/v1/experiments/{made['id']}/configs/{a}")
    body = {"config_ids": [a, b], "expected_epochs": {a: 1, b: 1}}
    assert ok(alice.post(f"/v1/experiments/{made['id']}/configs/stop", body), 422)["code"] == "stale_epoch"
    assert by_name(live(alice, made["id"]))["b"]["state"] == "running"


def test_a_sum_is_compared_in_sums(alice: Caller) -> None:
    metric = {"name": "right", "evaluator": "exact-match", "type": "distributive"}
    dataset = make_dataset(alice, n=40)
    made = make_experiment(alice, dataset, TWO, metrics=[metric], epsilon=4.0)
    assert made["plan"]["epsilon"] == pytest.approx(4.0)
    for i in range(2):
        Runner(alice, made, i).run(lambda e, i=i: e["expected"] if e["pos"] % 4 or not i else "wrong")
    view = by_name(live(alice, made["id"]))
    assert view["a"]["metrics"]["right"]["value"] == 40
    assert view["b"]["metrics"]["right"]["value"] == 30
    assert view["b"]["versus_leader"]["delta"] == pytest.approx(-10)


def test_a_metric_named_as_a_column_of_the_results_is_told_apart(alice: Caller) -> None:
    metrics = [EXACT | {"name": "pos"}, {"name": "latency_ms", "source": "latency_ms"}]
    made = make_experiment(alice, make_dataset(alice, n=3), TWO[:1], metrics=metrics)
    Runner(alice, made).run(latency_ms=7.0)
    content = b"".join(alice.get(f"/v1/experiments/{made['id']}/results?format=csv").streaming_content)
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert {row["pos"] for row in rows} == {"0", "1", "2"}
    assert {(row["pos (metric)"], row["latency_ms"], row["latency_ms (metric)"]) for row in rows} == {
        ("1.0", "7.0", "7.0")
    }


def test_long_values_that_begin_alike_get_names_of_their_own(alice: Caller) -> None:
    prompts = ["Answer the question as briefly as you can. " + end for end in ("Now.", "Please.", "Thanks.")]
    made = make_experiment(alice, make_dataset(alice, n=3), [{"kind": "push", "search": {"prompt": prompts}}])
    assert len({config["name"] for config in made["configs"]}) == 3


def test_outputs_that_kill_whoever_scores_them_end_as_errors(alice: Caller) -> None:
    from django.db import connections

    metrics = [{"name": "clean", "evaluator": "toxicity"}]
    made = make_experiment(alice, make_dataset(alice, n=10), TWO[:1], metrics=metrics)
    Runner(alice, made).run()
    with connections["system"].cursor() as cursor:
        values = [MAX_LEASES, made["id"]]
        cursor.execute("UPDATE experiments_workunit SET attempt = %s WHERE experiment_id = %s", values)
    run_units()
    found = live(alice, made["id"])["configs"][0]
    assert (found["state"], found["metrics"]["clean"]["n"], found["metrics"]["clean"]["n_error"]) == (
        "completed",
        0,
        10,
    )
    assert recounted(alice, made["id"]) == []


def test_a_scheduler_whose_time_is_up_goes_on_while_a_slow_endpoint_holds_a_slot(
    alice: Caller, charlie: Caller, stub: RunningStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = make_experiment(alice, make_dataset(alice, n=1), [chat(make_connection(alice, stub.base_url), "stub-echo")])
    quick = make_experiment(
        charlie, make_dataset(charlie, n=40), [chat(make_connection(charlie, stub.base_url), "stub-slow-150")]
    )

    def quick_is_done() -> bool:
        return bool(live(charlie, quick["id"])["experiment"]["state"] == "done")

    def produce_slowly(asking: ConfigClient, example: Any) -> GeneratedOutput:
        """Answer for the slow one when the quick one is done, and not before."""
        if asking.account_id == alice.account.pk:
            wait_until(quick_is_done)
        return produce(asking, example)

    monkeypatch.setattr("evalsvc.experiments.runner.units.pipelines.produce", produce_slowly)
    run_units(seconds=1, n_runners=2)
    assert quick_is_done()
    found = live(alice, slow["id"])["configs"][0]
    assert (found["n_ok"], found["n_error"]) == (1, 0)


def test_deleting_an_experiment_leaves_nothing_of_it_but_its_history(alice: Caller) -> None:
    from django.db import connections

    made = make_experiment(alice, make_dataset(alice, n=10), TWO)
    Runner(alice, made).run()
    assert alice.call("DELETE", f"/v1/experiments/{made['id']}").status_code == 204
    tables = ("experimentplan", "experimentitem", "config", "workunit", "output", "score", "evidence", "decision")
    with connections["system"].cursor() as cursor:
        for table in (*tables, "controlop"):
            cursor.execute(f"SELECT count(*) FROM experiments_{table} WHERE experiment_id = %s", [made["id"]])
            assert cursor.fetchone()[0] == 0, table
        cursor.execute("SELECT count(*) FROM evaluations_historyscore WHERE account_id = %s", [alice.account.pk])
        assert cursor.fetchone()[0] == 10


def test_a_clone_without_fresh_examples_says_so(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=10), TWO[:1])
    Runner(alice, made).run()
    path = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"
    answer = ok(alice.post(path, {"name": "late"}))
    assert (answer["config"]["fresh_from"], answer["warnings"]) == (10, ["designed_after", "no_fresh_examples"])
    assert "no_fresh_examples" in by_name(live(alice, made["id"]))["late"]["metrics"]["accuracy"]["warnings"]


@pytest.mark.parametrize(("kind", "fresh_from"), [("chat", 10), ("push", 20), ("http", 20)])
def test_what_an_llm_has_not_answered_has_been_seen_by_nobody(alice: Caller, kind: str, fresh_from: int) -> None:
    """The caller's own code, or application, has its answers before they are recorded."""
    from evalsvc.experiments.models import Config

    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    runner.post(unit, [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]])
    runner.lease()
    Config.objects.using("system").filter(pk=runner.config).update(kind=kind)
    added = ok(alice.post(f"/v1/experiments/{made['id']}/configs", {"configs": [{"kind": "push", "name": "new"}]}))
    assert added["configs"][0]["fresh_from"] == fresh_from


def test_nobody_leads_while_answers_of_another_wait_for_earlier_ones(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO)
    a, b = (Runner(alice, made, i) for i in range(2))
    slow = a.lease()["unit"]
    for runner in (a, b):
        unit = runner.lease()["unit"]
        runner.post(unit, [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]])
    assert live(alice, made["id"])["leader"] is None
    a.post(slow, [{"pos": e["pos"], "output": "wrong"} for e in slow["examples"]])
    assert live(alice, made["id"])["leader"] == b.config


def test_a_stopped_config_is_compared_on_all_that_both_have_answered(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO)
    a, b = (Runner(alice, made, i) for i in range(2))
    for _ in range(2):
        unit = b.lease()["unit"]
        b.post(unit, [{"pos": e["pos"], "output": "wrong"} for e in unit["examples"]])
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{b.config}/stop", {}))
    a.run()
    versus = by_name(live(alice, made["id"]))["b"]["versus_leader"]
    assert (versus["n"], versus["delta"]) == (20, -1.0)
