"""An exercise for each method of the API client within the package `patronus`; those of labels stand beside it."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from patronus.api import api_types as types
from patronus.api.api_client_base import ClientError, UnrecoverableAPIError

from tests.contract.patronus_sdk import Api

EXERCISES: dict[str, Callable[[Api], None]] = {}
ROWS = [
    {"evaluated_model_input": "France?", "evaluated_model_output": "Paris", "evaluated_model_gold_answer": "Paris"},
    {"evaluated_model_input": "Italy?", "evaluated_model_output": "Milan", "evaluated_model_gold_answer": "Rome"},
]
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def exercises(name: str) -> Callable[[Callable[[Api], None]], Callable[[Api], None]]:
    """Enter a function as the exercise of one method."""

    def enter(function: Callable[[Api], None]) -> Callable[[Api], None]:
        EXERCISES[name] = function
        return function

    return enter


def asked(**fields: Any) -> types.EvaluateRequest:
    """Ask whether Paris is Paris."""
    texts = {
        "evaluated_model_input": "France?",
        "evaluated_model_output": "Paris",
        "evaluated_model_gold_answer": "Paris",
    }
    return types.EvaluateRequest(**{"evaluators": [{"evaluator": "exact-match"}], **texts, **fields})


def scored(**fields: Any) -> types.ClientEvaluation:
    """Be a score that was made by the caller's own code."""
    return types.ClientEvaluation(**{"log_id": uuid.uuid4(), "evaluator_id": "own", "score": 0.5, **fields})


def project(api: Api, name: str = "sdk") -> types.Project:
    answer = api.create_project(types.CreateProjectRequest(name=name))
    assert isinstance(answer, types.Project)
    return answer


def experiment(api: Api) -> types.Experiment:
    wanted = types.CreateExperimentRequest(
        project_id=project(api).id, name="first", tags={"team": "a"}, metadata={"model": "small"}
    )
    answer = api.create_experiment(wanted)
    assert isinstance(answer, types.Experiment)
    return answer


def found(api: Api, **where: Any) -> list[types.Evaluation]:
    filters = [types.SearchEvaluationsFilter(field=name, operation="eq", value=value) for name, value in where.items()]
    answer = api.search_evaluations(types.SearchEvaluationsRequest(filters=filters))
    return list(answer.evaluations)


@exercises("whoami")
def whoami(api: Api) -> None:
    caller = api.whoami().caller

    assert caller.api_key.id
    assert caller.api_key.account.name.startswith("alice")


@exercises("create_project")
def create_project(api: Api) -> None:
    assert project(api, "capitals").id == project(api, "capitals").id
    assert project(api, "rivers").name == "rivers"


@exercises("get_project")
def get_project(api: Api) -> None:
    made = project(api)

    assert api.get_project(made.id) == made
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        api.get_project(str(uuid.uuid4()))


@exercises("create_experiment")
def create_experiment(api: Api) -> None:
    made = experiment(api)

    assert (made.name, made.tags, made.metadata) == ("first", {"team": "a"}, {"model": "small"})
    assert made.project_id == project(api).id
    assert made.id.isdigit()


@exercises("update_experiment")
def update_experiment(api: Api) -> None:
    """The synchronous method forgets the slash before the id, and is understood."""
    made = experiment(api)
    changed = api.update_experiment(made.id, types.UpdateExperimentRequest(metadata={"model": "large"}))

    assert (changed.id, changed.metadata) == (made.id, {"model": "large"})


@exercises("get_experiment")
def get_experiment(api: Api) -> None:
    made = experiment(api)

    assert api.get_experiment(made.id) == made
    assert api.get_experiment("112825104711650870") is None


@exercises("evaluate")
def evaluate(api: Api) -> None:
    log_id, dataset = str(uuid.uuid4()), {"dataset_id": "capitals", "dataset_sample_id": "12"}
    answer = api.evaluate(
        asked(
            evaluators=[
                {"evaluator": "exact-match", "criteria": "patronus:exact-match"},
                {"evaluator": "pii", "explain_strategy": "never"},
                {"evaluator": "toxicity", "explain_strategy": "on-fail"},
            ],
            evaluated_model_retrieved_context="Paris is the capital of France.",
            evaluated_model_attachments=[{"url": "https://example.com/a.png", "media_type": "image/png"}],
            app="shop",
            tags={"team": "a"},
            log_id=log_id,
            **dataset,
        )
    )

    assert [result.status for result in answer.results] == ["success"] * 3
    exact, pii, toxicity = (result.evaluation_result for result in answer.results)
    assert (exact.score_raw, exact.pass_, exact.tags, exact.app) == (1.0, True, {"team": "a"}, "shop")
    assert (exact.dataset_id, exact.dataset_sample_id) == ("capitals", 12)
    assert isinstance(exact.evaluation_duration, timedelta)
    assert exact.evaluated_model_retrieved_context == ["Paris is the capital of France."]
    assert (pii.explanation, toxicity.explanation) == (None, None)
    assert {row.evaluator_family for row in found(api, log_id=log_id)} == {"exact-match", "pii", "toxicity"}


@exercises("evaluate_one")
def evaluate_one(api: Api) -> None:
    verdict = api.evaluate_one(asked())

    assert (verdict.pass_, verdict.criteria) == (True, "patronus:exact-match")
    with pytest.raises(UnrecoverableAPIError, match="unknown_evaluator"):
        api.evaluate_one(asked(evaluators=[{"evaluator": "nonsense"}]))
    with pytest.raises(UnrecoverableAPIError, match="missing_input"):
        api.evaluate_one(asked(evaluated_model_gold_answer=None))
    with pytest.raises(UnrecoverableAPIError, match="422"):
        api.evaluate_one(asked(evaluated_model_input=None, evaluated_model_output=None))


@exercises("export_evaluations")
def export_evaluations(api: Api) -> None:
    rows = [
        types.ExportEvaluationResult(
            evaluator_id="my own",
            app="shop",
            pass_=True,
            score_raw=0.75,
            evaluated_model_input="France?",
            evaluated_model_retrieved_context=["Paris."],
            evaluated_model_params={"temperature": 0.5},
            evaluation_duration=timedelta(seconds=1.5),
            evaluation_metadata={"words": 1},
            dataset_sample_id=3,
            tags={"team": "a"},
        ),
        types.ExportEvaluationResult(evaluator_id="my own", text_output="fine"),
    ]
    kept = api.export_evaluations(types.ExportEvaluationRequest(evaluation_results=rows)).evaluation_results

    assert [(row.evaluator_id, row.app) for row in kept] == [
        ("external:my-own", "shop"),
        ("external:my-own", "default"),
    ]
    assert [row.score for row in found(api, evaluator_id="external:my-own", app="shop")] == [0.75]


@exercises("list_evaluators")
def list_evaluators(api: Api) -> None:
    assert {"exact-match", "pii", "toxicity"} <= {alias for row in api.list_evaluators() for alias in row.aliases}
    [pii] = api.list_evaluators(by_alias_or_id="pii")
    assert (pii.default_criteria, api.list_evaluators(by_alias_or_id=pii.id)) == ("patronus:detect-pii", [pii])
    assert api.list_evaluators(by_alias_or_id="nonsense") == []


def criteria(api: Api, name: str = "close") -> types.EvaluatorCriteria:
    wanted = types.CreateCriteriaRequest(
        evaluator_family="metrics", name=name, config={"metric": "rougeL", "pass_threshold": 0.5}
    )
    made = api.create_criteria(wanted).evaluator_criteria
    assert isinstance(made, types.EvaluatorCriteria)
    return made


@exercises("create_criteria")
def create_criteria(api: Api) -> None:
    made = criteria(api)

    assert (made.name, made.revision, made.is_patronus_managed) == ("close", 1, False)
    with pytest.raises(ClientError, match="422"):
        criteria(api)


@exercises("add_evaluator_criteria_revision")
def add_evaluator_criteria_revision(api: Api) -> None:
    made = criteria(api)
    wanted = types.AddEvaluatorCriteriaRevisionRequest(config={"metric": "rougeL", "pass_threshold": 0.9})
    second = api.add_evaluator_criteria_revision(made.public_id, wanted).evaluator_criteria

    assert (second.public_id, second.revision) == (made.public_id, 2)


@exercises("list_criteria")
def list_criteria(api: Api) -> None:
    made = criteria(api)
    api.add_evaluator_criteria_revision(made.public_id, types.AddEvaluatorCriteriaRevisionRequest(config=made.config))

    def listed(**where: Any) -> list[tuple[str, int]]:
        rows = api.list_criteria(types.ListCriteriaRequest(**where)).evaluator_criteria
        return [(row.name, row.revision) for row in rows]

    assert listed(name="close", get_last_revision=True) == [("close", 2)]
    assert sorted(listed(public_id=made.public_id)) == [("close", 1), ("close", 2)]
    assert listed(name="close", revision="1") == [("close", 1)]
    assert listed(name="patronus:detect-pii", is_patronus_managed=True, get_last_revision=True)
    assert listed(evaluator_family="metrics", is_patronus_managed=False, limit=1, get_last_revision=True) == [
        ("close", 2)
    ]
    assert listed(name="nonsense") == []


def uploaded(api: Api, name: str) -> types.Dataset:
    """Upload two rows. The client names the file as the dataset, without a suffix."""
    made = api.upload_dataset_from_buffer(io.BytesIO(JSONL), name, "Two capitals")
    assert isinstance(made, types.Dataset)
    return made


@exercises("upload_dataset")
def upload_dataset(api: Api) -> None:
    path = Path(__file__).parent / "capitals.csv"
    made = api.upload_dataset(
        str(path), "capitals", "With columns of our own", {"evaluated_model_input": "question", "gold_answer": "answer"}
    )

    assert (made.name, made.samples, made.description) == ("capitals", 2, "With columns of our own")
    rows = api.list_dataset_data(made.id).data
    assert [(row.evaluated_model_input, row.evaluated_model_gold_answer) for row in rows] == [
        ("The capital of France?", "Paris"),
        ("The capital of Italy?", "Rome"),
    ]


@exercises("upload_dataset_from_buffer")
def upload_dataset_from_buffer(api: Api) -> None:
    made = uploaded(api, "buffer")

    assert (made.name, made.samples, made.description) == ("buffer", 2, "Two capitals")
    with pytest.raises(ClientError, match="422"):
        api.upload_dataset_from_buffer(io.BytesIO(b"{not json\n"), "broken")


@exercises("list_datasets")
def list_datasets(api: Api) -> None:
    made = uploaded(api, "listed")

    assert api.list_datasets() == [made]


@exercises("list_dataset_data")
def list_dataset_data(api: Api) -> None:
    made = uploaded(api, "rows")
    rows = api.list_dataset_data(made.id).data

    assert [(row.sid, row.evaluated_model_output) for row in rows] == [(1, "Paris"), (2, "Milan")]
    assert {row.dataset_id for row in rows} == {made.id}


@exercises("batch_create_evaluations")
def batch_create_evaluations(api: Api) -> None:
    sent = types.BatchCreateEvaluationsRequest(
        evaluations=[
            scored(app="shop", project_name="sdk", pass_=True, tags={"team": "a"}, criteria="strict"),
            scored(text_output="fine", score=None, evaluation_duration=timedelta(milliseconds=216)),
        ]
    )
    first, again = (api.batch_create_evaluations(sent).evaluations for _ in range(2))

    assert [row.id for row in again] == [row.id for row in first]
    assert (first[0].score, first[0].pass_, first[0].criteria, first[0].tags) == (0.5, True, "strict", {"team": "a"})
    assert first[1].evaluation_duration == timedelta(milliseconds=216)
    assert {row.evaluation_type for row in first} == {"client_evaluation"}
    assert len(found(api, evaluator_id="external:own")) == 2


@exercises("search_evaluations")
def search_evaluations(api: Api) -> None:
    rows = [scored(score=score, app="shop") for score in (0.1, 0.5, 0.9)]
    api.batch_create_evaluations(types.BatchCreateEvaluationsRequest(evaluations=rows))
    where = types.SearchEvaluationsFilter
    low_or_high = where(
        or_=[where(field="score", operation="lt", value=0.2), where(field="score", operation="ge", value=0.9)]
    )
    both = types.SearchEvaluationsRequest(filters=[where(field="app", operation="eq", value="shop"), low_or_high])

    assert sorted(row.score for row in api.search_evaluations(both).evaluations) == [0.1, 0.9]
    assert len(api.search_evaluations(types.SearchEvaluationsRequest()).evaluations) == 3
    with pytest.raises(ClientError, match="422"):
        found(api, nonsense=1)
