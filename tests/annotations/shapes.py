"""Annotation criteria and labels, made through the API."""

from __future__ import annotations

import uuid
from typing import Any

from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from tests.conftest import Caller
from tests.factories import new_experiment

CRITERIA = "/v1/annotation-criteria"
ANNOTATE = "/v1/annotate"
ANNOTATIONS = "/v1/annotations"
GRADES = [{"label": "bad", "score": 0}, {"label": "fair", "score": 0.5}, {"label": "good", "score": 1}]
TYPES = ("binary", "continuous", "discrete", "categorical", "text_annotation")
VALUES: dict[str, dict[str, Any]] = {
    "binary": {"value_pass": True},
    "continuous": {"value_score": 0.25},
    "discrete": {"value_score": 0.5},
    "categorical": {"value_text": "good"},
    "text_annotation": {"value_text": "It forgets the date."},
}


def new_project(caller: Caller) -> str:
    """Make a project and return its id."""
    return str(new_experiment(caller).project_id)


def criteria_body(caller: Caller, kind: str = "binary", **fields: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": f"helpful {uuid.uuid4().hex[:8]}",
        "description": "Does it help?",
        "annotation_type": kind,
    }
    if kind in ("discrete", "categorical"):
        body["categories"] = GRADES
    return body | ({} if "project_id" in fields else {"project_id": new_project(caller)}) | fields


def new_criteria(caller: Caller, kind: str = "binary", **fields: Any) -> dict[str, Any]:
    answer = caller.post(CRITERIA, criteria_body(caller, kind, **fields))
    assert answer.status_code == 200, answer.content
    made: dict[str, Any] = answer.json()["annotation_criteria"]
    return made


def annotate_body(criteria: dict[str, Any], log_id: str | None = None, **values: Any) -> dict[str, Any]:
    said = values or VALUES[criteria["annotation_type"]]
    return {"annotation_criteria_id": criteria["id"], "log_id": log_id or str(uuid.uuid4()), **said}


def annotation_body(criteria: dict[str, Any], kind: str, reference: str, **values: Any) -> dict[str, Any]:
    said = {name: value for name, value in values.items() if name.startswith("value_")}
    more = VALUES[criteria["annotation_type"]] if not said else {}
    return {"annotation_criteria": criteria["id"], "type": kind, "reference": reference, **more, **values}


def say(caller: Caller, criteria: dict[str, Any], kind: str, reference: str, **values: Any) -> dict[str, Any]:
    """Annotate anything and return the annotation."""
    answer = caller.post(ANNOTATIONS, annotation_body(criteria, kind, reference, **values))
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()["annotation"]
    return found


def label(caller: Caller, criteria: dict[str, Any], log_id: str | None = None, **values: Any) -> dict[str, Any]:
    """Annotate and return the evaluation."""
    answer = caller.post(ANNOTATE, annotate_body(criteria, log_id, **values))
    assert answer.status_code == 200, answer.content
    assert set(answer.json()) == {"evaluation"}
    found: dict[str, Any] = answer.json()["evaluation"]
    return found


def criteria_of(caller: Caller) -> AnnotationCriteria:
    """Make criteria and return the row."""
    return AnnotationCriteria.objects.using("system").get(pk=new_criteria(caller)["id"])


def n_kept(caller: Caller) -> tuple[int, int]:
    """Evaluations and requests of the account."""
    models: tuple[Any, ...] = (Evaluation, EvaluationRequest)
    n, m = (model.objects.using("system").filter(account_id=caller.account.pk).count() for model in models)
    return n, m


def history(caller: Caller, criteria: dict[str, Any], **query: str) -> dict[str, Any]:
    more = "".join(f"&{name}={value}" for name, value in query.items())
    answer = caller.get(f"/v1/history?evaluator=annotation:{criteria['id']}{more}")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def search(caller: Caller, **values: Any) -> list[str]:
    """Return the ids of evaluations with these values."""
    filters = [{"field": name, "operation": "eq", "value": value} for name, value in values.items()]
    answer = caller.post("/v1/evaluations/search", {"filters": filters})
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["evaluations"]]
