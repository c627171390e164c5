"""The bodies of annotation calls, as they come in; unknown fields are ignored, as clients of this wire expect."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from evalsvc.annotations.services import MAX_NAME, CriteriaFields
from evalsvc.annotations.values import AnnotationValue, Categories
from evalsvc.evaluations.wire.request import MAX_ID

ResourceType = Literal["trace", "span", "log", "evaluation", "trace_insight"]


class CriteriaBody(msgspec.Struct):
    """What PUT takes: all that can change."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
    annotation_type: Literal["binary", "continuous", "discrete", "categorical", "text_annotation"]
    description: Annotated[str, Meta(max_length=10_000)] | None = None
    categories: Categories | None = None
    resource_types: list[ResourceType] | None = None

    def fields(self) -> CriteriaFields:
        """Return what the service takes."""
        return CriteriaFields(
            self.name, self.annotation_type, self.description, self.categories or (), self.resource_types or ()
        )


class NewCriteriaBody(CriteriaBody, kw_only=True):
    """What POST takes."""

    project_id: uuid.UUID


class SaidBody(msgspec.Struct, kw_only=True):
    """The value of a label."""

    value_pass: bool | None = None
    value_score: float | None = None
    value_text: str | None = None
    explanation: str | None = None

    def to_value(self) -> AnnotationValue:
        """Return what the service takes."""
        return AnnotationValue(self.value_pass, self.value_score, self.value_text, self.explanation)


class AnnotateBody(SaidBody, kw_only=True):
    """What a person says about a log."""

    annotation_criteria_id: uuid.UUID
    log_id: Annotated[str, Meta(min_length=1, max_length=MAX_ID)]


class AnnotationBody(SaidBody, kw_only=True):
    """What a person says about anything that has an id."""

    annotation_criteria: uuid.UUID
    type: ResourceType
    reference: Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
    created_at: datetime | None = None
