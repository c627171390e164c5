"""`client.annotations`: questions that people answer about what was logged, and their answers, which are labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.client.service.transport import Transport
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject, to_json

CRITERIA, LABELS = "/v1/annotation-criteria", "/v1/annotations"


@dataclass(frozen=True, kw_only=True)
class CriteriaRecord(ServiceObject):
    """A question, with the type of its answers."""

    id: str
    project_id: str
    name: str
    annotation_type: str
    description: str | None = None
    categories: Sequence[Mapping[str, Any]] | None = None
    resource_types: Sequence[str] = ()
    created_at: str = ""


@dataclass(frozen=True, kw_only=True)
class LabelRecord(ServiceObject):
    """A person's current label of a target; `evaluation_id` identifies the evaluation with its score."""

    id: str
    evaluation_id: str
    annotation_criteria: str
    type: str
    reference: str
    value_pass: bool | None = None
    value_score: float | None = None
    value_text: str | None = None
    explanation: str | None = None
    created_at: str = ""


class AnnotationsApi:
    """Calls of `/v1/annotation-criteria` and `/v1/annotations`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_criteria(
        self,
        name: str,
        annotation_type: str = "binary",
        *,
        project: str = "default",
        description: str = "",
        categories: Sequence[Mapping[str, object]] = (),
        resource_types: Sequence[str] = (),
    ) -> CriteriaRecord:
        """Make a question: `binary`, `continuous`, `discrete`, `categorical` or `text_annotation`.

        `categories` are `{"label", "score"}` each. The project is made where it is new.
        """
        body = {
            "project_id": self._transport.post("/v1/projects", {"name": project})["id"],
            "name": name,
            "annotation_type": annotation_type,
            **({"description": description} if description else {}),
            **({"categories": to_json(list(categories))} if categories else {}),
            **({"resource_types": list(resource_types)} if resource_types else {}),
        }
        return self._criteria(self._transport.post(CRITERIA, body))

    def criteria(self, project_id: str | None = None) -> Listing[CriteriaRecord]:
        """Return the account's questions, newest first."""
        pages, params = self._transport.pages_by_offset, {"project_id": project_id}
        return Listing(lambda: map(CriteriaRecord.read, pages(CRITERIA, "annotation_criteria", params)))

    def get_criteria(self, criteria: str | CriteriaRecord) -> CriteriaRecord:
        """Return one question."""
        return self._criteria(self._transport.get(f"{CRITERIA}/{get_id(criteria)}"))

    def delete_criteria(self, criteria: str | CriteriaRecord) -> None:
        """Take a question out of use; its labels stay with their history."""
        self._transport.call("DELETE", f"{CRITERIA}/{get_id(criteria)}")

    def label(
        self,
        criteria: str | CriteriaRecord,
        value: bool | float | str,
        *,
        log: str | None = None,
        trace: str | None = None,
        span: str | None = None,
        evaluation: str | None = None,
        explanation: str | None = None,
    ) -> LabelRecord:
        """Store a label of one log, trace, span or evaluation; it replaces an earlier label by the same criteria."""
        references = {"log": log, "trace": trace, "span": span, "evaluation": evaluation}
        targets = [(type, reference) for type, reference in references.items() if reference is not None]
        if len(targets) != 1:
            raise ValueError("A label is of one thing: give one of `log`, `trace`, `span` and `evaluation`.")
        ((type, reference),) = targets
        body = {"annotation_criteria": get_id(criteria), "type": type, "reference": reference, **build_value(value)}
        body |= {} if explanation is None else {"explanation": explanation}
        return LabelRecord.read(self._transport.post(LABELS, body)["annotation"])

    def list(
        self, *, type: str | None = None, reference: str | None = None, project_id: str | None = None
    ) -> Listing[LabelRecord]:
        """Return labels, newest first, of what is named."""
        params = {"type": type, "reference": reference, "project_id": project_id}
        return Listing(lambda: map(LabelRecord.read, self._transport.pages(LABELS, "annotations", params)))

    @staticmethod
    def _criteria(answer: JsonObject) -> CriteriaRecord:
        return CriteriaRecord.read(answer["annotation_criteria"])


def build_value(value: bool | float | str) -> JsonObject:
    """Return the request field for a value, which depends on its type."""
    match value:
        case bool():
            return {"value_pass": value}
        case str():
            return {"value_text": value}
    return {"value_score": value}
