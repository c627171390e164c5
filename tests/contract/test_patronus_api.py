"""Every method of `patronus-api` against a running service, every answer validated strictly by the client."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import patronus_api
import pytest

from tests.contract.patronus_clients import Called, parameters_of, served_methods

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


def test_every_method_has_an_exercise(client: Called) -> None:
    assert served_methods(client._target) == set(EXERCISES)


@pytest.mark.parametrize("name", sorted(served_methods(patronus_api.PatronusAPI(api_key="none"))))
def test_it_answers(client: Called, name: str) -> None:
    EXERCISES[name](client)

    assert name in client.names


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


@exercises("evaluators.list")
def list_evaluators(client: Called) -> None:
    every = client.evaluators.list().evaluators
    (one,) = client.evaluators.list(by_alias_or_id="toxicity").evaluators

    assert one.id in {row.id for row in every}
    assert one.id.startswith("toxicity")
    assert "toxicity" in one.aliases
    assert one.default_criteria
    assert all(row.name for row in every)
    assert client.evaluators.list(by_alias_or_id="no such thing").evaluators == []


@exercises("evaluators.list_families")
def list_families(client: Called) -> None:
    found = {row.family_name: row for row in client.evaluators.list_families().evaluator_families}

    assert found["exact-match"].required_input_fields == ["evaluated_model_output", "evaluated_model_gold_answer"]
    assert found["pii"].required_input_fields == ["evaluated_model_output"]


def own_criteria(client: Called, name: str) -> Any:
    answer = client.evaluator_criteria.create(
        evaluator_family="metrics", name=name, config={"metric": "bleu", "pass_threshold": 0.5}
    )
    return answer.evaluator_criteria


@exercises("evaluator_criteria.create")
def create_criteria(client: Called) -> None:
    found = client.evaluator_criteria.create(
        evaluator_family="judge", name="brief", config={"pass_criteria": "Brief?"}, description="Says no more."
    ).evaluator_criteria

    assert (found.name, found.revision, found.is_patronus_managed) == ("brief", 1, False)
    assert (found.config["pass_criteria"], found.description) == ("Brief?", "Says no more.")
    assert uuid.UUID(found.public_id)
    assert is_aware(found.created_at)


@exercises("evaluator_criteria.list")
def list_criteria(client: Called) -> None:
    own = own_criteria(client, "lenient")
    client.evaluator_criteria.add_revision(own.public_id, config={"metric": "bleu", "pass_threshold": 0.25})

    def listed(**query: Any) -> list[tuple[str, int]]:
        rows = client.evaluator_criteria.list(**query).evaluator_criteria
        return [(row.name, row.revision) for row in rows]

    both = [("lenient", 2), ("lenient", 1)]
    assert listed(public_id=own.public_id) == listed(name="lenient") == both
    assert listed(name="lenient", get_last_revision=True) == listed(name="lenient", revision=2) == both[:1]
    assert listed(evaluator_family="metrics", is_patronus_managed=False, enabled=True, limit=1, offset=1) == both[1:]
    managed = client.evaluator_criteria.list(evaluator_family="pii", is_patronus_managed=True).evaluator_criteria
    assert managed
    assert all(row.is_patronus_managed and isinstance(row.config, dict) for row in managed)


@exercises("evaluator_criteria.add_revision")
def add_revision(client: Called) -> None:
    own = own_criteria(client, "lenient")

    found = client.evaluator_criteria.add_revision(
        own.public_id, config={"metric": "bleu", "pass_threshold": 0.25}, description="Softer."
    ).evaluator_criteria

    assert (found.public_id, found.revision, found.description) == (own.public_id, 2, "Softer.")
    assert found.config["pass_threshold"] == 0.25


@exercises("evaluator_criteria.archive")
def archive_criteria(client: Called) -> None:
    own = own_criteria(client, "lenient")
    client.evaluator_criteria.add_revision(own.public_id, config={"metric": "bleu", "pass_threshold": 0.25})

    found = client.evaluator_criteria.archive(own.public_id).evaluator_criteria

    assert [row.revision for row in found] == [2, 1]
    assert client.evaluator_criteria.list(public_id=own.public_id).evaluator_criteria == []
    assert len(client.evaluator_criteria.list(public_id=own.public_id, enabled=False).evaluator_criteria) == 2


@exercises("experiments.create")
def create_experiment(client: Called) -> None:
    project = client.projects.create(name="checkout")

    found = client.experiments.create(
        name="July", project_id=project.id, tags={"model": "small"}, metadata={"seed": 7}
    ).experiment

    assert found.id.isdigit()
    assert (found.name, found.project_id, found.tags, found.metadata) == (
        *("July", project.id, {"model": "small"}),
        {"seed": 7},
    )
    assert is_aware(found.created_at)
    (result,) = client.evaluations.evaluate(**PARIS, experiment_id=found.id, project_name="ignored").results
    verdict = result.evaluation_result
    assert (verdict.experiment_id, verdict.app, verdict.project_id) == (found.id, None, project.id)
    kept = client.evaluations.retrieve(int(verdict.id)).evaluation
    assert (kept.experiment_id, kept.app) == (int(found.id), None)


def two_experiments(client: Called) -> tuple[Any, Any]:
    projects = [client.projects.create(name=name) for name in ("checkout", "search")]
    one, other = (client.experiments.create(name="July", project_id=project.id).experiment for project in projects)
    return one, other


@exercises("experiments.retrieve")
def retrieve_experiment(client: Called) -> None:
    one, _ = two_experiments(client)

    assert client.experiments.retrieve(one.id).experiment == one


@exercises("experiments.list")
def list_experiments(client: Called) -> None:
    one, other = two_experiments(client)

    def listed(**query: Any) -> list[str]:
        return [row.id for row in client.experiments.list(**query).experiments]

    assert listed() == [other.id, one.id]
    assert listed(limit=1, offset=1) == listed(project_id=one.project_id) == [one.id]


@exercises("experiments.update")
def update_experiment(client: Called) -> None:
    one, other = two_experiments(client)

    assert client.experiments.update(one.id, metadata={"done": True}).experiment.metadata == {"done": True}
    assert client.experiments.retrieve(one.id).experiment.metadata == {"done": True}
    assert client.experiments.retrieve(other.id).experiment.metadata == other.metadata


@exercises("experiments.delete")
def delete_experiment(client: Called) -> None:
    one, other = two_experiments(client)

    assert client.experiments.delete(one.id) is None

    assert [row.id for row in client.experiments.list().experiments] == [other.id]


@exercises("projects.create")
def create_project(client: Called) -> None:
    found = client.projects.create(name="checkout")

    assert uuid.UUID(found.id)
    assert found.name == "checkout"
    assert is_aware(found.created_at)
    assert client.projects.create(name="checkout") == found


@exercises("projects.retrieve")
def retrieve_project(client: Called) -> None:
    project = client.projects.create(name="checkout")

    assert client.projects.retrieve(project.id).project == project


@exercises("projects.list")
def list_projects(client: Called) -> None:
    one, other = (client.projects.create(name=name) for name in ("checkout", "search"))

    every = client.projects.list().projects

    assert {row.id for row in every} == {one.id, other.id}
    assert client.projects.list(limit=1, offset=1).projects == every[1:]


@exercises("projects.delete")
def delete_project(client: Called) -> None:
    one, other = (client.projects.create(name=name) for name in ("checkout", "search"))

    assert client.projects.delete(one.id) is None

    assert [row.id for row in client.projects.list().projects] == [other.id]


@exercises("apps.list")
def list_apps(client: Called) -> None:
    for app in ("shop", "desk"):
        captured(client, app=app)

    every = [row.name for row in client.apps.list().apps]

    assert sorted(every) == ["desk", "shop"]
    assert [row.name for row in client.apps.list(limit=1, offset=1).apps] == every[1:]


@exercises("whoami.retrieve")
def whoami(client: Called) -> None:
    caller = client.whoami.retrieve().caller

    assert caller.api_key.id
    assert caller.api_key.account.name.startswith("alice")
    assert caller.user is None
