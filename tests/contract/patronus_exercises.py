"""What each method of `patronus-api` must do here: a function for each, entered under its name."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import patronus_api
import pytest

from tests.contract.patronus_clients import Called, parameters_of

LOG = "7c7e3a0e-6f5e-4d27-9a7f-0d3b6c5f2a11"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARIS: dict[str, Any] = {
    "evaluators": [{"evaluator": "exact-match"}],
    "task_input": "The capital of France?",
    "task_output": "Paris",
    "gold_answer": "Paris",
}
EXERCISES: dict[str, Callable[[Called], None]] = {}


def exercises(name: str) -> Callable[[Callable[[Called], None]], Callable[[Called], None]]:
    """Enter a function as the exercise of one method of the client."""

    def enter(function: Callable[[Called], None]) -> Callable[[Called], None]:
        EXERCISES[name] = function
        return function

    return enter


def captured(client: Called, **fields: Any) -> Any:
    """Evaluate and capture; return the only result's verdict."""
    (result,) = client.evaluations.evaluate(**PARIS | {"capture": "all"} | fields).results
    assert result.status == "success", result
    return result.evaluation_result


def is_aware(moment: datetime) -> bool:
    return moment.utcoffset() is not None and abs(datetime.now(UTC) - moment) < timedelta(hours=1)


@exercises("evaluations.evaluate")
def evaluate(client: Called) -> None:
    project = client.projects.create(name="checkout")
    sent: dict[str, Any] = {
        "evaluators": [{"evaluator": "exact-match", "criteria": "patronus:exact-match", "explain_strategy": "always"}],
        "app": "shop",
        "capture": "all",
        "confidence_interval_strategy": "full-history",
        "dataset_id": "capitals",
        "dataset_sample_id": "12",
        "evaluated_model_attachments": [{"url": "https://example.com/a.png", "media_type": "image/png"}],
        "gold_answer": "Paris",
        "log_id": LOG,
        "project_id": project.id,
        "span_id": SPAN,
        "system_prompt": "Be brief.",
        "tags": {"team": "a"},
        "task_context": ["France is a country.", "Paris is its capital."],
        "task_input": "The capital of France?",
        "task_output": "Paris",
        "trace_id": TRACE,
    }
    # An experiment excludes the app, and a project's name outranks its id: those two have tests of their own.
    assert parameters_of(client._target.evaluations.evaluate) == {*sent, "experiment_id", "project_name"}

    (result,) = client.evaluations.evaluate(**sent).results

    assert (result.status, result.error_message, result.criteria) == ("success", None, "patronus:exact-match")
    found = result.evaluation_result
    assert found.id.isdigit()
    assert (found.project_id, found.app, found.experiment_id) == (project.id, "shop", None)
    assert (found.pass_, found.score_raw, found.explain_strategy) == (True, 1.0, "always")
    assert (found.dataset_id, found.dataset_sample_id, found.log_id) == ("capitals", 12, LOG)
    assert (found.tags, found.external, found.evaluation_type) == ({"team": "a"}, False, "patronus_evaluation")
    assert found.evaluated_model_retrieved_context == sent["task_context"]
    assert (found.evaluated_model_input, found.evaluated_model_system_prompt) == (sent["task_input"], "Be brief.")
    assert found.evaluated_model_attachments[0].usage_type == "evaluated_model_input"
    assert found.evaluation_duration.startswith("PT")
    assert found.explanation
    assert is_aware(found.created_at)
    interval = found.additional_info.confidence_interval
    assert (interval.strategy, interval.alpha, interval.lower) == ("full-history", 0.95, None)


@exercises("evaluations.retrieve")
def retrieve(client: Called) -> None:
    made = captured(client, log_id=LOG, trace_id=TRACE, span_id=SPAN, dataset_sample_id="12", tags={"team": "a"})

    found = client.evaluations.retrieve(int(made.id)).evaluation

    assert (found.id, found.log_id, found.app) == (made.id, LOG, "default")
    assert (found.trace_id, found.span_id, found.dataset_sample_id) == (TRACE, SPAN, "12")
    assert (found.pass_, found.score, found.evaluator_family) == (True, 1.0, "exact-match")
    assert (found.tags, found.evaluation_type, found.feedback) == ({"team": "a"}, "patronus_evaluation", None)
    assert uuid.UUID(found.criteria_id)
    assert found.criteria_revision == 1
    assert found.evaluation_duration.startswith("PT")
    assert found.created_at == made.created_at


@exercises("evaluations.delete")
def delete(client: Called) -> None:
    one, other = captured(client), captured(client)

    assert client.evaluations.delete(int(one.id)) is None

    with pytest.raises(patronus_api.NotFoundError):
        client.evaluations.retrieve(int(one.id))
    assert client.evaluations.retrieve(int(other.id)).evaluation.id == other.id


@exercises("evaluations.batch_create")
def batch_create(client: Called) -> None:
    project = client.projects.create(name="checkout")
    row: dict[str, Any] = {
        "evaluator_id": "my-check",
        "log_id": LOG,
        "app": "shop",
        "created_at": datetime(2026, 5, 1, 12, tzinfo=UTC),
        "criteria": "strict",
        "dataset_id": "capitals",
        "dataset_sample_id": "row-7",
        "evaluation_duration": "PT0.25S",
        "explanation": "Close.",
        "explanation_duration": "PT1S",
        "metadata": {"positions": None, "confidence": 0.5},
        "metric_description": "How near it is.",
        "metric_name": "nearness",
        "pass": True,
        "project_id": project.id,
        "score": 0.75,
        "span_id": SPAN,
        "tags": {"team": "a"},
        "text_output": "near",
        "trace_id": TRACE,
    }
    other = {"evaluator_id": "my-check", "log_id": LOG, "project_name": "search", "pass": False}

    found, least = client.evaluations.batch_create(evaluations=[row, other]).evaluations

    sent = {"pass_" if name == "pass" else name: value for name, value in row.items()}
    sent |= {"evaluator_id": "external:my-check", "evaluation_type": "client_evaluation", "evaluator_family": None}
    assert {name: getattr(found, name) for name in sent} == sent
    assert (least.pass_, least.score, least.app, least.criteria) == (False, 0.0, "default", None)
    assert least.project_id == client.projects.create(name="search").id


@exercises("evaluations.search")
def search(client: Called) -> None:
    right, wrong = captured(client, app="shop"), captured(client, task_output="Rome", app="shop")

    found = client.evaluations.search(
        filters=[
            {"field": "app", "operation": "eq", "value": "shop"},
            {"field": "pass", "operation": "eq", "value": False},
        ]
    ).evaluations

    assert [row.id for row in found] == [wrong.id]
    assert {row.id for row in client.evaluations.search().evaluations} == {right.id, wrong.id}


@exercises("evaluations.batch_delete")
def batch_delete(client: Called) -> None:
    gone, kept = captured(client, app="old"), captured(client, app="new")

    client.evaluations.batch_delete(app="old")

    assert [row.id for row in client.evaluations.search().evaluations] == [kept.id]
    with pytest.raises(patronus_api.NotFoundError):
        client.evaluations.retrieve(int(gone.id))
