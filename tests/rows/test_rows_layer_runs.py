"""Rows of the Intelligence Layer: datasets, runs, evaluations, what is kept of each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rouge_score import rouge_scorer
from sacrebleu import sentence_bleu

from tests.conftest import wait_until
from tests.rows.application import Application
from tests.rows.pipelines import CAPITALS
from tests.rows.service import EXACT, F1, Service, plan_body
from tests.rows.table import row

LANDS: list[dict[str, Any]] = [{"id": land, "input": land, "expected": city} for land, city in CAPITALS.items()]


def right(example: dict[str, Any]) -> str:
    return CAPITALS[example["input"]]


@row(
    "I-01", "what changed: implementation, model, environment", "GET /v1/experiments?metadata=environment:new; compare"
)
def test_runs_carry_their_environment(api: Service) -> None:
    ids = {
        name: api.pushed(LANDS, {"task": right}, metadata={"environment": name, "model": "m1"})
        for name in ("old", "new")
    }

    found = api.get("/v1/experiments?metadata=environment:new")["experiments"]

    assert [one["id"] for one in found] == [ids["new"]]


@row("I-02", "examples of any shape, with id and metadata", "POST /v1/datasets; GET …/jsonl | equal")
def test_examples_come_back_as_they_went(api: Service) -> None:
    examples: list[dict[str, Any]] = [
        {"id": "a", "input": {"q": ["x", 1]}, "expected": {"deep": [True, None]}, "metadata": {"topic": "t"}},
        {"id": "b", "input": "text"},
    ]

    lines = api.call("GET", f"/v1/datasets/{api.dataset(examples)}/jsonl").text.splitlines()

    assert [json.loads(line) for line in lines] == examples


@row("I-03", "datasets do not change; a change is a version", "PUT …/versions | 405; hash equal; DELETE in use | 422")
def test_a_version_is_frozen(api: Service) -> None:
    id = api.dataset(LANDS)
    before = api.get(f"/v1/datasets/{id}/versions")["versions"]

    statuses = [api.call(method, f"/v1/datasets/{id}/versions", {}).status_code for method in ("PUT", "PATCH")]
    api.pushed(id, {"mine": right})

    assert statuses == [405, 405]
    assert api.get(f"/v1/datasets/{id}/versions")["versions"] == before
    assert api.call("DELETE", f"/v1/datasets/{id}").status_code == 422


@row(
    "I-04",
    "one dataset for all tasks of its type; another type is refused",
    "POST /v1/experiments {{input.question}} | 422",
)
def test_a_task_that_reads_what_no_example_has_is_refused(api: Service) -> None:
    config = {
        "name": "x",
        "kind": "http",
        "parameters": {"url": "https://app.example.com", "body": {"q": "{{input.question}}"}},
    }

    assert "input.question" in api.refused("/v1/experiments", plan_body(api.dataset(LANDS), [config]))


@row("I-05", "absolute evaluation, aggregates that can be ordered", "GET …/live | .leader, .configs[].metrics")
def test_configs_are_ordered_by_their_aggregate(api: Service) -> None:
    id = api.pushed(LANDS, {"bad": lambda example: "Rome", "good": right})

    live = api.live(id)

    assert live["leader"] == api.config_id(id, "good")
    assert {one["name"]: one["metrics"]["em"]["value"] for one in live["configs"]} == {"bad": 0.25, "good": 1.0}


@row(
    "I-07",
    "run, evaluate, aggregate: three steps, each again",
    "POST …/metrics after the run; GET …/aggregates?by=metadata.topic",
)
def test_each_step_stands_alone(api: Service) -> None:
    examples = [{**one, "metadata": {"topic": one["id"][0]}} for one in LANDS]
    id = api.pushed(examples, {"mine": lambda example: "Rome"})
    api.post(f"/v1/experiments/{id}/metrics", {"metrics": [F1]})
    api.done(id)

    found = api.get(f"/v1/experiments/{id}/aggregates?by=metadata.topic&metric=em")

    values = {one["values"]["metadata.topic"]: (one["value"], one["n"]) for one in found["rows"]}
    assert values == {"I": (1.0, 1), "F": (0.0, 1), "S": (0.0, 1), "N": (0.0, 1)}


@row("I-08", "a limit, and an end at the first error", 'plan {"limit": 2}, {"abort_on_error": true}',
     differs="A limit takes the first n of the stored random order, so that they are a fair part of the set, and not the first ids.")  # fmt: skip
def test_a_run_can_be_limited_and_aborted(api: Service) -> None:
    made = api.experiment(api.dataset(LANDS), [{"name": "mine", "kind": "push"}], limit=2)

    assert api.answer(made["id"], made["configs"][0]["id"], right) == 2

    def breaks(example: dict[str, Any]) -> str:
        raise RuntimeError("no answer")

    broken = api.experiment(api.dataset(LANDS), [{"name": "b", "kind": "push"}], abort_on_error=True, micro_batch=1)
    assert api.answer(broken["id"], broken["configs"][0]["id"], breaks) < len(LANDS)


@row(
    "I-09",
    "runs of one evaluation share their dataset",
    "POST /v1/gates over two datasets | 422; GET /v1/compare | nothing_paired",
)
def test_runs_over_other_examples_are_not_compared(api: Service) -> None:
    one = api.pushed(LANDS, {"a": right})
    other = api.pushed([{"id": "z", "input": "Peru", "expected": "Lima"}], {"b": lambda example: "Lima"})

    assert "nothing_paired" in api.get(f"/v1/compare?a={one}&b={other}")["warnings"]
    assert api.refused("/v1/aggregates", {"experiment_ids": [one, other], "metric": "em", "paired": True})


@row("I-12", "one store, several ways in and out", "GET /v1/datasets/D/jsonl, csv, parquet; each uploaded again | same hash",
     differs="One store, PostgreSQL. A file, a memory or a hub is a way in or out, not a second store with other guarantees.")  # fmt: skip
def test_every_format_comes_back_the_same(api: Service) -> None:
    id = api.dataset(LANDS)
    (version,) = api.get(f"/v1/datasets/{id}/versions")["versions"]

    for kind in ("jsonl", "csv", "parquet"):
        files = {"file": (f"again.{kind}", api.call("GET", f"/v1/datasets/{id}/{kind}").content)}
        answer = api.http.post(f"/v1/datasets/{id}/versions", files=files)
        assert answer.json()["version"]["content_hash"] == version["content_hash"], kind


@row("I-13", "an overview of a run: successful + failed = total", "GET …/live | n_ok + n_error == n_done")
def test_a_run_counts_what_became_of_each(api: Service) -> None:
    def mostly(example: dict[str, Any]) -> str:
        if example["input"] == "Spain":
            raise RuntimeError("no answer")
        return right(example)

    id = api.pushed(LANDS, {"mine": mostly}, metadata={"description": "one breaks"})

    found = api.config(id)
    assert (found["n_ok"], found["n_error"], found["n_done"]) == (3, 1, 4)


@row("I-14", "an evaluation of each example, and an overview", "GET …/results | .scores; GET …/metrics | n_scored")
def test_every_example_has_its_evaluation(api: Service) -> None:
    id = api.pushed(LANDS, {"mine": right})

    assert [one["scores"]["em"]["value"] for one in api.results(id)] == [1.0] * 4
    (metric,) = api.get(f"/v1/experiments/{id}/metrics")["metrics"]
    assert (metric["n_scored"], metric["n_pending"]) == (4, 0)


@row("I-16", "all that is in between is kept, and counts again", "GET …/recount | equal; …/results")
def test_what_was_computed_is_kept(api: Service, application: Application) -> None:
    url = application.serve("/kept", lambda body: CAPITALS[body["input"]])
    id = api.experiment(api.dataset(LANDS), [{"name": "app", "kind": "http", "parameters": {"url": url}}])["id"]
    api.done(id)

    assert [api.get(f"/v1/experiments/{id}/recount")["equal"] for _ in range(2)] == [True, True]
    assert application.calls["/kept"] == len(LANDS)


@row("I-17", "old and new outputs of an example, together", "GET …/results?example_id=Italy")
def test_all_outputs_of_an_example_are_read_together(api: Service) -> None:
    made = api.experiment(api.dataset(LANDS), [{"name": "old", "kind": "push"}])
    api.answer(made["id"], made["configs"][0]["id"], lambda example: "Milan")
    added = api.post(f"/v1/experiments/{made['id']}/configs", {"configs": [{"name": "new", "kind": "push"}]})
    api.answer(made["id"], added["configs"][0]["id"], right)

    found = api.results(made["id"], "example_id=Italy")

    assert {one["config"]: one["output"]["output"] for one in found} == {"old": "Milan", "new": "Rome"}


@row(
    "I-18", "lineage: example, outputs, evaluation, trace", "GET …/results | input, expected, output, scores, trace_id"
)
def test_a_result_leads_from_the_example_to_its_scores(api: Service) -> None:
    id = api.pushed(LANDS, {"mine": right})

    (found,) = api.results(id, "example_id=Italy")

    assert (found["input"], found["expected"], found["output"]["output"]) == ("Italy", "Rome", "Rome")
    assert found["scores"]["em"]["value"] == 1.0 and "trace_id" in found


@row("I-19", "failures are kept, listed, and only they are tried again", "GET …/results?status=failed; POST …/retry | calls 1",
     differs="A failure keeps its type and message; a traceback stays in the process that had it.")  # fmt: skip
def test_only_the_failed_example_is_tried_again(api: Service, application: Application) -> None:
    broken = {"Spain"}

    def page(body: Any) -> str:
        if body["input"] in broken:
            raise RuntimeError("no answer")
        return CAPITALS[body["input"]]

    url = application.serve("/fails", page)
    id = api.experiment(api.dataset(LANDS), [{"name": "app", "kind": "http", "parameters": {"url": url}}])["id"]
    api.done(id)
    (failed,) = api.results(id, "status=failed")
    before = application.calls["/fails"]
    broken.clear()

    assert api.post(f"/v1/experiments/{id}/retry", {"what": "outputs"})["n_outputs"] == 1
    wait_until(lambda: api.config(id)["metrics"]["em"]["n"] == len(LANDS), seconds=30)

    assert (failed["example_id"], failed["status"]) == ("Spain", "error")
    assert application.calls["/fails"] - before == 1
    assert api.value(id, "em") == 1.0


@row("I-21", "traces of each example, latency and tokens", "POST /v1/traces (OTLP); GET …/results?trace_id=…")
def test_an_output_leads_to_its_trace(api: Service) -> None:
    from tests.telemetry.otlp import new_id, span, traces

    trace_id = new_id()
    api.post("/v1/traces", traces(span(trace_id, name="answer")))
    metrics: list[dict[str, Any]] = [
        EXACT,
        *({"name": name, "source": name, "higher_is_better": False} for name in ("latency_ms", "output_tokens")),
    ]
    made = api.experiment(api.dataset(LANDS[:1]), [{"name": "mine", "kind": "push"}], metrics)
    config = made["configs"][0]["id"]
    unit = api.post(f"/v1/experiments/{made['id']}/configs/{config}/lease")["unit"]
    output = {"pos": 0, "output": "Rome", "trace_id": trace_id, "latency_ms": 216.0, "output_tokens": 3}
    api.post(f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": [output]})

    assert len(api.results(made["id"], f"trace_id={trace_id}")) == 1
    assert (api.value(made["id"], "latency_ms"), api.value(made["id"], "output_tokens")) == (216.0, 3.0)
    assert "answer" in str(api.get(f"/v1/traces/{trace_id}"))


@row("I-23", "a run goes on after a crash, nothing twice", "POST …/lease by a second process; the same outputs again | accepted []",
     differs="There is no call to resume: leases of a dead process pass on by themselves. kill -9 is in tests/faults.")  # fmt: skip
def test_what_was_recorded_counts_once(api: Service) -> None:
    made = api.experiment(api.dataset(LANDS), [{"name": "mine", "kind": "push"}], micro_batch=2)
    config = made["configs"][0]["id"]
    unit = api.post(f"/v1/experiments/{made['id']}/configs/{config}/lease")["unit"]
    body = {"token": unit["token"], "outputs": [{"pos": one["pos"], "output": right(one)} for one in unit["examples"]]}
    address = f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs"

    accepted = [len(api.post(address, body)["accepted"]) for _ in range(2)]
    api.answer(made["id"], config, right)

    assert accepted == [2, 0]
    assert (api.config(made["id"])["n_done"], api.value(made["id"], "em")) == (4, 1.0)


@row("I-24", "labels, metadata, descriptions, filters", "GET /v1/experiments?tags=label:mine&name=…")
def test_runs_are_found_by_label_and_name(api: Service) -> None:
    id = api.pushed(LANDS, {"mine": right}, name="labelled run", tags={"label": "mine"})

    for query in ("tags=label:mine", "name=labelled%20run"):
        assert [one["id"] for one in api.get(f"/v1/experiments?{query}")["experiments"]] == [id]


@row("I-26", "graders: BLEU, ROUGE-2, language, highlights", "POST /v1/evaluate | values of sacrebleu and rouge-score")
def test_graders_score_as_the_libraries_say(api: Service) -> None:
    said, gold = "The cat sat on the red mat.", "The cat sat on a mat."

    def score(evaluator: str, **sample: Any) -> Any:
        return api.evaluate(evaluator, **sample)["evaluation_result"]["score_raw"]

    rouge = rouge_scorer.RougeScorer(["rouge2"]).score(gold, said)["rouge2"].fmeasure
    assert score("metrics/compute-bleu", output=said, gold_answer=gold) == pytest.approx(
        sentence_bleu(said, [gold]).score / 100, abs=0.006
    )
    criteria = api.profile("metrics", metric="rouge2")
    assert score(f"metrics/{criteria}", output=said, gold_answer=gold) == pytest.approx(rouge, abs=1e-6)
    german = api.profile("custom", type="language", value="de")
    assert score(f"custom/{german}", output="Das ist ein deutscher Satz über das Wetter von heute.") == 1.0
    assert "highlight" in api.call("GET", "/v1/evaluator-families").text
