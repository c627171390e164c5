"""Runs over rows that have their samples: results by criterion id, counts, pages, errors of single rows, intervals."""

from __future__ import annotations

import io
import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from evalsvc.experiments.models import ExperimentPlan
from tests.conftest import Caller
from tests.openai_evals.shapes import NUMBER, SAME, make_eval, make_run, row

ROWS = [row("a", "a", n=7), row("b", "x", n=7), row("c", "c", n=8), row("d", None, n=7)]
"""One that passes both criteria, one that fails the first, one that fails the second, and one without a sample."""


def pages(client: OpenAI, made: Any, run: Any, **query: Any) -> list[Any]:
    return list(client.evals.runs.output_items.list(run.id, eval_id=made.id, **query))


def test_counts_are_of_items_that_pass_every_criterion(client: OpenAI) -> None:
    made = make_eval(client, SAME, NUMBER)
    run = make_run(client, made.id, ROWS, name="r", metadata={"a": "b"})

    assert (run.object, run.status, run.name, run.metadata) == ("eval.run", "completed", "r", {"a": "b"})
    assert (run.eval_id, run.error, run.model, run.per_model_usage) == (made.id, None, "", [])
    assert run.result_counts.to_dict() == {"total": 4, "passed": 1, "failed": 2, "errored": 1}
    results = {result.testing_criteria: result.to_dict() for result in run.per_testing_criteria_results}
    same, number = (criterion.to_dict()["id"] for criterion in made.testing_criteria)
    assert [(results[id]["passed"], results[id]["failed"], results[id]["errored"]) for id in (same, number)] == [
        (2, 1, 1),
        (3, 1, 0),
    ]
    assert client.evals.runs.retrieve(run.id, eval_id=made.id).to_dict() == run.to_dict()


def test_items_are_named_by_criterion_id_and_in_order(client: OpenAI) -> None:
    made = make_eval(client, SAME, NUMBER)
    run = make_run(client, made.id, ROWS)

    items = pages(client, made, run, limit=3)
    assert [item.datasource_item_id for item in items] == [0, 1, 2, 3]
    assert [item.status for item in items] == ["pass", "fail", "fail", "error"]
    assert [item.datasource_item for item in items] == [sent["item"] for sent in ROWS]
    ids = [criterion.to_dict()["id"] for criterion in made.testing_criteria]
    assert [[result.name for result in item.results] for item in items] == [ids] * 4
    assert [(result.score, result.passed, result.type) for result in items[1].results] == [
        (0.0, False, "string_check"),
        (1.0, True, "string_check"),
    ]
    assert [(result.score, result.passed) for result in items[3].results] == [(None, None), (1.0, True)]
    assert items[0].sample.output[0].content == "a"
    assert client.evals.runs.output_items.retrieve(items[2].id, eval_id=made.id, run_id=run.id) is not None


@pytest.mark.parametrize(("status", "places"), [("pass", [0]), ("fail", [1, 2])])
def test_items_are_filtered_by_status(client: OpenAI, status: Any, places: list[int]) -> None:
    made = make_eval(client, SAME, NUMBER)
    run = make_run(client, made.id, ROWS)

    assert [item.datasource_item_id for item in pages(client, made, run, status=status, limit=1)] == places
    backwards = pages(client, made, run, status=status, limit=1, order="desc")
    assert [item.datasource_item_id for item in backwards] == places[::-1]


def test_the_pass_rate_has_an_interval_for_new_data(client: OpenAI) -> None:
    """9 of 10 pass: the Clopper-Pearson interval at 95 % is 0.555 to 0.997."""
    made = make_eval(client)
    run = make_run(client, made.id, [row("a", "a", n=i) for i in range(9)] + [row("a", "b"), row("a", None)])

    rate = run.model_extra["evalsvc"]["pass_rate"]
    assert (rate["value"], rate["n"], rate["level"], rate["covers"]) == (0.9, 10, 0.95, "new data")
    assert (round(rate["lower"], 3), round(rate["upper"], 3)) == (0.555, 0.997)
    assert "errors_excluded" in rate["warnings"]


def test_a_run_is_compared_with_the_newest_on_the_same_rows(client: OpenAI, alice: Caller) -> None:
    made = make_eval(client)
    rows = [row("a", "b", n=i) for i in range(40)]
    first = make_run(client, made.id, rows)
    make_run(client, made.id, rows[:1])
    second = make_run(client, made.id, [{**sent, "sample": {"output_text": "a"}} for sent in rows])

    assert first.model_extra["evalsvc"]["versus"] is None
    versus = second.model_extra["evalsvc"]["versus"]
    assert (versus["run_id"], versus["delta"], versus["n"], versus["word"]) == (first.id, 1.0, 40, "better")
    assert 0.8 < versus["lower"] < versus["upper"] <= 1.0
    numbers = [
        alice.get(f"/v1/experiments/{run.model_extra['evalsvc']['experiment_id']}").json() for run in (first, second)
    ]
    assert len({json.dumps(number["experiment"]["plan"]["dataset_version"]) for number in numbers}) == 1


def test_a_run_enters_no_history(client: OpenAI, alice: Caller) -> None:
    run = make_run(client, make_eval(client).id, ROWS)
    plan = ExperimentPlan.objects.using("system").get(pk=run.model_extra["evalsvc"]["experiment_id"])
    assert (plan.promote, plan.account_id) == (False, alice.account.pk)


def test_rows_come_from_a_file(client: OpenAI) -> None:
    lines = "\n".join(json.dumps(sent) for sent in ROWS).encode()
    file = client.files.create(file=("rows.jsonl", io.BytesIO(lines)), purpose="evals")
    made = make_eval(client, SAME, NUMBER)
    source: Any = {"type": "jsonl", "source": {"type": "file_id", "id": file.id}}
    run = client.evals.runs.create(made.id, data_source=source)

    assert run.data_source.to_dict() == source
    assert run.result_counts.to_dict() == {"total": 4, "passed": 1, "failed": 2, "errored": 1}
    client.files.delete(file.id)
    assert len(pages(client, made, run)) == 4


def test_many_rows_are_shown_as_a_file(client: OpenAI) -> None:
    made = make_eval(client)
    rows = [row("a", "a" * 1000, n=i) for i in range(100)]
    run = make_run(client, made.id, rows)

    source = run.data_source.to_dict()["source"]
    assert source["type"] == "file_id"
    assert [json.loads(line) for line in client.files.content(source["id"]).read().splitlines()] == rows
    client.evals.runs.delete(run.id, eval_id=made.id)
    assert list(client.files.list()) == []


def test_braces_in_rows_are_data(client: OpenAI) -> None:
    made = make_eval(client)
    run = make_run(client, made.id, [row("{{item.n}}", "{{item.n}}", n=1), row("{{item.n}}", "1", n=1)])
    assert run.result_counts.to_dict() == {"total": 2, "passed": 1, "failed": 1, "errored": 0}


def test_similarity_has_its_own_score(client: OpenAI) -> None:
    criterion = {
        "type": "text_similarity",
        "name": "near",
        "evaluation_metric": "fuzzy_match",
        "pass_threshold": 0.5,
        "input": "{{sample.output_text}}",
        "reference": "{{item.category}}",
    }
    made = make_eval(client, criterion)
    run = make_run(client, made.id, [row("abcd", "abce")])
    (item,) = pages(client, made, run)
    assert (item.results[0].score, item.results[0].passed) == (0.75, True)


def test_runs_are_listed_and_deleted(client: OpenAI, alice: Caller) -> None:
    made = make_eval(client)
    runs = [make_run(client, made.id, [row("a", "a", n=i)]) for i in range(3)]

    assert [run.id for run in client.evals.runs.list(made.id, limit=2)] == [run.id for run in runs]
    assert [run.id for run in client.evals.runs.list(made.id, status="completed", order="desc")] == [
        run.id for run in runs[::-1]
    ]
    assert list(client.evals.runs.list(made.id, status="failed")) == []
    for run in runs:
        gone = client.evals.runs.delete(run.id, eval_id=made.id)
        assert (gone.object, gone.deleted, gone.run_id) == ("eval.run.deleted", True, run.id)
        with pytest.raises(openai.NotFoundError):
            client.evals.runs.retrieve(run.id, eval_id=made.id)
    assert alice.get("/v1/datasets").json()["datasets"] == []
    assert make_run(client, made.id, ROWS).status == "completed"


def test_both_addresses_of_cancel_answer_the_run(client: OpenAI) -> None:
    made = make_eval(client)
    run = make_run(client, made.id, ROWS)

    assert client.evals.runs.cancel(run.id, eval_id=made.id).status == "completed"
    assert client.post(f"/evals/{made.id}/runs/{run.id}", cast_to=dict)["status"] == "completed"


@pytest.mark.parametrize(
    ("source", "param"),
    [
        (None, "data_source"),
        ({"type": "logs", "source": {}}, "data_source.type"),
        ({"type": "jsonl", "source": {"type": "stored_completions"}}, "data_source.source.type"),
        ({"type": "jsonl", "source": {"type": "file_content", "content": []}}, "data_source.source.content"),
        ({"type": "jsonl", "source": {"type": "file_id", "id": "file-1"}}, "data_source.source.id"),
        (
            {"type": "jsonl", "source": {"type": "file_content", "content": [ROWS[0], {"item": {}}]}},
            "data_source.source.content[1].item",
        ),
        (
            {"type": "jsonl", "source": {"type": "file_content", "content": [row("a", "a", n="x")]}},
            "data_source.source.content[0].item.n",
        ),
        (
            {"type": "jsonl", "source": {"type": "file_content", "content": [{"item": 3}]}},
            "data_source.source.content[0].item",
        ),
    ],
)
def test_bad_sources_are_400_and_make_nothing(client: OpenAI, alice: Caller, source: Any, param: str) -> None:
    made = make_eval(client)
    with pytest.raises(openai.BadRequestError) as refusal:
        client.evals.runs.create(made.id, data_source=source)

    assert refusal.value.param == param
    assert list(client.evals.runs.list(made.id)) == []
    assert alice.get("/v1/datasets").json()["datasets"] == []


def test_a_body_that_is_too_large_is_413(client: OpenAI) -> None:
    made = make_eval(client)
    with pytest.raises(openai.APIStatusError) as refusal:
        make_run(client, made.id, [row("a", "a" * 5_000_000)])
    assert (refusal.value.status_code, refusal.value.code) == (413, "body_too_large")


@pytest.mark.parametrize(
    "bad",
    [
        row("a", "a\0b"),
        row("a\0b", "ab"),
        row("a", "a", n=2**70),
        {"item": {"category": "a"}, "sample": {"choices": [{"message": {"content": "\0"}}]}},
        {"item": {"category": "a"}, "sample": {"output_json": {"a\0": 1}}},
    ],
)
def test_what_cannot_be_stored_is_refused_inline_and_in_a_file(client: OpenAI, alice: Caller, bad: Any) -> None:
    made = make_eval(client, schema={"type": "object"})
    lines = f"{json.dumps(row('a', 'a'))}\n{json.dumps(bad)}\n".encode()
    file = client.files.create(file=("rows.jsonl", io.BytesIO(lines)), purpose="evals")
    from_file: Any = {"type": "jsonl", "source": {"type": "file_id", "id": file.id}}
    with pytest.raises(openai.BadRequestError) as in_file:
        client.evals.runs.create(made.id, data_source=from_file)
    with pytest.raises(openai.BadRequestError) as inline:
        make_run(client, made.id, [row("a", "a"), bad])

    assert in_file.value.param == "data_source.source.id"
    assert "Line 2 at /" in in_file.value.message
    assert str(inline.value.param).startswith("data_source.source.content[1].")
    assert list(client.evals.runs.list(made.id)) == []
    assert alice.get("/v1/datasets").json()["datasets"] == []


def test_a_line_that_is_wrong_is_named(client: OpenAI) -> None:
    made = make_eval(client)
    for content, place in ((b'{"item": {"category": "a"}}\nnope', "Line 2"), (b'\n{"item": {}}', "Line 2")):
        file = client.files.create(file=("rows.jsonl", io.BytesIO(content)), purpose="evals")
        with pytest.raises(openai.BadRequestError) as refusal:
            client.evals.runs.create(
                made.id, data_source={"type": "jsonl", "source": {"type": "file_id", "id": file.id}}
            )
        assert refusal.value.param == "data_source.source.id"
        assert place in refusal.value.message
