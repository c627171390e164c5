"""What is hostile, or only at the edge of what is allowed, ends soon and is answered as what it is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import connections

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.decisions import policy, step
from evalsvc.experiments.definition.templates import template_names
from tests.conftest import Caller
from tests.experiments.conftest import (
    chat,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.experiments.pushing import PUSH, Runner

CLIENT = {"name": "stars", "source": "client", "value_range": [0, 5]}


def test_a_template_of_many_blanks_is_read_at_once() -> None:
    assert list(template_names("{{" + " " * 1_000_000 + "{{ input.question }}")) == ["input.question"]


def test_values_that_repeat_in_a_search_are_tried_once(alice: Caller) -> None:
    search = {knob: [1] * 500 + [2] for knob in "abcd"}
    made = make_experiment(alice, make_dataset(alice, n=2), [{"kind": "push", "search": search}], start=False)
    assert len(made["configs"]) == 16


def refused(alice: Caller, configs: list[Any], **plan: Any) -> list[str]:
    body: dict[str, Any] = {"name": "x", "configs": configs}
    body["plan"] = {"dataset_id": make_dataset(alice, n=2), "metrics": [CLIENT]} | plan
    answer = alice.post("/v1/experiments", body)
    assert answer.status_code == 422, answer.content
    return [error["pointer"] for error in answer.json()["errors"]]


def test_metadata_of_an_experiment_is_bounded(alice: Caller, charlie: Caller) -> None:
    fits = {"note": "é" * ((64 * 1024 - len('{"note":""}')) // 2)}
    made = ok(alice.post("/v1/experiments", {"name": "x", "metadata": fits}))["experiment"]
    assert made["metadata"] == fits
    for metadata in ({"note": fits["note"] + "é"}, {"note": "x" * 2_000_000}):
        for path in ("/v1/experiments", f"/v1/experiments/{made['id']}"):
            error = ok(alice.post(path, {"name": "x", "metadata": metadata}), 422)["errors"][0]
            assert error["pointer"] == "/metadata"
            assert error["detail"].startswith("At most 65536 bytes of JSON; ")
        error = ok(alice.patch(f"/v1/experiments/{made['id']}", {"metadata": metadata}), 422)["errors"][0]
        assert error["pointer"] == "/metadata"
    assert charlie.patch(f"/v1/experiments/{made['id']}", {"metadata": {}}).status_code == 404
    assert ok(alice.get(f"/v1/experiments/{made['id']}"))["experiment"]["metadata"] == fits


def test_a_search_over_more_combinations_than_can_be_counted_is_refused(alice: Caller) -> None:
    search = {f"k{i}": [0, 1] for i in range(70)}
    config = {"kind": "push", "search": search, "method": "random", "n": 3}
    assert refused(alice, [config]) == ["/configs/0/search"]


def test_a_range_whose_width_is_no_number_is_refused(alice: Caller) -> None:
    metric = {"name": "a", "source": "client", "value_range": [-1e308, 1e308]}
    assert refused(alice, [PUSH], metrics=[metric]) == ["/plan/metrics/0/value_range"]


@pytest.mark.parametrize("number", [5e-324, 1e-200, -1e-300])
def test_a_number_too_small_to_be_squared_is_zero(alice: Caller, number: float) -> None:
    metric = {"name": "stars", "source": "client"}
    made = make_experiment(alice, make_dataset(alice, n=2), [PUSH], metrics=[metric])
    runner = Runner(alice, made)
    assert runner.run(scores={"stars": number}) == 2
    assert live(alice, made["id"])["configs"][0]["metrics"]["stars"]["value"] == 0.0
    assert recounted(alice, made["id"]) == []


def test_epsilon_comes_back_as_it_was_given(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=2), [PUSH], metrics=[CLIENT], epsilon=0.5)
    assert made["plan"]["epsilon"] == 0.5


def test_a_new_name_changes_the_tag(alice: Caller, charlie: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=2), [PUSH])
    path = f"/v1/experiments/{made['id']}"
    etag = alice.get(f"{path}/live")["ETag"]
    ok(alice.patch(path, {"name": "another"}))
    answer = alice.get(f"{path}/live", If_None_Match=etag)
    assert (answer.status_code, answer.json()["experiment"]["name"]) == (200, "another")
    assert charlie.get(f"{path}/live", If_None_Match=etag).status_code == 404


def test_a_budget_that_a_stopped_config_holds_ends_the_experiment(alice: Caller) -> None:
    """Nobody is given more, and nobody will answer what the stopped one was given."""
    configs = [{"name": name, "kind": "push"} for name in ("gone", "left")]
    made = make_experiment(alice, make_dataset(alice, n=20), configs, budget={"queries": 10})
    gone, left = (Runner(alice, made, i) for i in range(2))
    assert len(gone.lease(n=6)["unit"]["examples"]) == 6
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{gone.config}/stop", {}))
    assert left.run() == 4
    view = live(alice, made["id"])
    assert view["experiment"]["state"] == "idle"
    assert [config["stop_reason"] for config in view["configs"]] == ["user", "budget"]


def test_who_was_stopped_while_the_evidence_was_weighed_stops_nobody(
    alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = [{"name": name, "kind": "push"} for name in ("good", "bad")]
    made = make_experiment(alice, make_dataset(alice, n=40), configs, policy="race_default")
    path = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/stop"
    weigh, decide = step.bring_up_to_date, policy.decide  # type: ignore[attr-defined]  # as it is patched
    monkeypatch.setattr(policy, "decide", lambda *args: [])
    for i, text in enumerate(("right", "wrong")):
        runner = Runner(alice, made, i)
        for _ in range(2):
            unit = runner.lease()["unit"]
            rows = [{"pos": e["pos"], "output": e["expected"] if text == "right" else text} for e in unit["examples"]]
            runner.post(unit, rows)

    def stopped_meanwhile(*args: Any, **options: Any) -> Any:
        pairs = weigh(*args, **options)
        with ThreadPoolExecutor(1) as elsewhere:
            ok(elsewhere.submit(alice.post, path, {}).result())
        return pairs

    monkeypatch.setattr(policy, "decide", decide)
    monkeypatch.setattr(step, "bring_up_to_date", stopped_meanwhile)
    assert step.step(account_id=alice.account.pk, experiment_id=int(made["id"]))
    view = live(alice, made["id"])
    assert [config["state"] for config in view["configs"]] == ["stopped", "running"]
    assert view["experiment"]["state"] == "running"


def test_a_reused_output_is_measured_as_it_was_when_it_was_asked(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url, price_input_per_million=1.0, price_output_per_million=2.0)
    metrics = [{"name": "price", "source": "cost"}]
    made = make_experiment(alice, make_dataset(alice, n=10), [chat(connection, "stub-echo")], metrics=metrics)
    run_units()
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone", {"name": "again"}))
    run_units()
    first, again = live(alice, made["id"])["configs"]
    assert again["n_reused"] == 10
    assert again["cost"] == 0.0 < first["cost"]
    assert again["metrics"]["price"]["seen_before_design"]["value"] == first["metrics"]["price"]["value"]
    assert recounted(alice, made["id"]) == []


def test_a_search_does_not_multiply_a_large_body(alice: Caller) -> None:
    config = {"kind": "push", "parameters": {"text": "x" * 1_000_000}, "search": {"k": list(range(40))}}
    assert refused(alice, [config]) == ["/configs"]


def test_a_metric_that_looks_like_a_formula_is_none_in_a_spreadsheet(alice: Caller) -> None:
    metric = {"name": "=1+1", "source": "client"}
    made = make_experiment(alice, make_dataset(alice, n=2), [PUSH], metrics=[metric])
    answer: Any = alice.get(f"/v1/experiments/{made['id']}/results?format=csv")
    head = b"".join(answer.streaming_content).splitlines()[0]
    assert b",'=1+1,'=1+1.error" in head


def test_two_who_claim_at_once_do_not_exceed_a_budget(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    configs = [chat(connection, "stub-echo", name=name, temperature=i) for i, name in enumerate("abc")]
    make_experiment(alice, make_dataset(alice, n=60), configs, budget={"queries": 10})
    others = "SELECT array_agg(id) FROM accounts_account WHERE id <> %s"
    claim = f"SELECT to_pos - from_pos FROM claim_units(1, 8, 30, ({others}), '{{}}')"
    system = connections["system"].get_connection_params()
    with psycopg.connect(**{name: system[name] for name in ("dbname", "user", "password", "host", "port")}) as one:
        given = [n for (n,) in one.execute(claim, [alice.account.pk]).fetchall()]
        with connections["system"].cursor() as other:
            other.execute(claim, [alice.account.pk])
            given += [n for (n,) in other.fetchall()]
    assert given == [10]
