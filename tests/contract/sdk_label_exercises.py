"""Exercises of the client's methods for annotation criteria, labels and logs."""

from __future__ import annotations

import uuid
from typing import Any

from patronus.api import api_types as types

from tests.contract.patronus_sdk import Api
from tests.contract.sdk_exercises import asked, exercises, found, project


def annotation_criteria(api: Api, name: str = "polite") -> types.AnnotationCriteria:
    wanted = types.CreateAnnotationCriteriaRequest(
        project_id=project(api).id,
        name=name,
        description="As a guest would say it",
        annotation_type=types.AnnotationType.categorical,
        categories=[{"label": "rude", "score": 0.0}, {"label": "polite", "score": 1.0}],
    )
    made = api.create_annotation_criteria(wanted).annotation_criteria
    assert isinstance(made, types.AnnotationCriteria)
    return made


@exercises("create_annotation_criteria")
def create_annotation_criteria(api: Api) -> None:
    made = annotation_criteria(api)

    assert (made.name, made.annotation_type.value) == ("polite", "categorical")
    assert [category.label for category in made.categories or []] == ["rude", "polite"]


@exercises("list_annotation_criteria")
def list_annotation_criteria(api: Api) -> None:
    first, second = annotation_criteria(api, "polite"), annotation_criteria(api, "short")
    everything = api.list_annotation_criteria(project_id=first.project_id).annotation_criteria

    assert {row.id for row in everything} == {first.id, second.id}
    assert len(api.list_annotation_criteria(limit=1, offset=1).annotation_criteria) == 1


@exercises("update_annotation_criteria")
def update_annotation_criteria(api: Api) -> None:
    made = annotation_criteria(api)
    wanted = types.UpdateAnnotationCriteriaRequest(
        name="kind", annotation_type=made.annotation_type, categories=made.categories
    )
    changed = api.update_annotation_criteria(made.id, wanted).annotation_criteria

    assert (changed.id, changed.name, changed.description) == (made.id, "kind", None)


@exercises("delete_annotation_criteria")
def delete_annotation_criteria(api: Api) -> None:
    made = annotation_criteria(api)
    api.delete_annotation_criteria(made.id)

    assert api.list_annotation_criteria().annotation_criteria == []


@exercises("annotate")
def annotate(api: Api) -> None:
    made, log_id = annotation_criteria(api), str(uuid.uuid4())
    api.evaluate(asked(log_id=log_id, app="shop"))
    wanted = types.AnnotateRequest(
        annotation_criteria_id=made.id, log_id=log_id, value_text="polite", value_score=1.0, explanation="Thanked us."
    )
    labelled = api.annotate(wanted).evaluation

    assert (labelled.evaluation_type, labelled.annotation_criteria_id) == ("annotation", made.id)
    assert (labelled.log_id, labelled.text_output, labelled.score) == (log_id, "polite", 1.0)
    assert {row.evaluation_type for row in found(api, log_id=log_id)} == {"annotation", "patronus_evaluation"}


@exercises("search_logs")
def search_logs(api: Api) -> None:
    log_id, trace_id = str(uuid.uuid4()), uuid.uuid4().hex
    attributes = [
        {"key": "pat.log.id", "value": {"stringValue": log_id}},
        {"key": "n", "value": {"intValue": "3"}},
    ]
    record = {"timeUnixNano": "1770000000000000000", "traceId": trace_id, "body": {"stringValue": "Paris"}}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record | {"attributes": attributes}]}]}]}
    api.client.http_sync.post(f"{api.client.base_url}/v1/logs", json=logs, headers=api.client.auth_headers())
    where = types.SearchLogsFilter

    def searched(**filters: Any) -> list[types.Log]:
        wanted = [where(field=name, op="eq", value=value) for name, value in filters.items()]
        return list(api.search_logs(types.SearchLogsRequest(filters=[where(and_=wanted)], limit=10)).logs)

    [log] = searched(trace_id=trace_id, log_id=log_id)
    assert (log.body, log.log_attributes) == ("Paris", {"pat.log.id": log_id, "n": "3"})
    assert searched(trace_id=uuid.uuid4().hex) == []
