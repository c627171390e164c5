"""/v1/annotations and both searches: labels that people give to logs, traces, spans and evaluations."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Annotated, Any

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.annotations import services
from evalsvc.annotations.api.annotations import AnnotationCriteriaPage, annotation_criteria_out
from evalsvc.annotations.bodies import AnnotationBody
from evalsvc.annotations.search import get_label, label_condition, search_criteria, search_labels, to_uuid
from evalsvc.annotations.values import RESOURCE_TYPES, LabelledThing
from evalsvc.rest.answering.shapes import AnswerShape, AnswerWithWarnings, Moment, answers_with, build_enum
from evalsvc.rest.bodies.schemas import body_schema

MOST = 10_000


class AnnotationsQuery(serializers.Serializer[Any]):
    """The query of GET /v1/annotations. `limit=0` returns an empty page."""

    type = serializers.ChoiceField(choices=RESOURCE_TYPES, required=False)
    reference = serializers.CharField(required=False, max_length=255)
    project_id = serializers.UUIDField(required=False)
    limit = serializers.IntegerField(min_value=0, max_value=MOST, default=1000)
    cursor = serializers.CharField(required=False, max_length=500)


class AnnotationSearchIn(serializers.Serializer[Any]):
    """A search; a filter has `field`, `operation` and `value`, or nests others in `and_` and `or_`."""

    filters = serializers.ListField(child=serializers.DictField(), default=list, allow_null=True)
    limit = serializers.IntegerField(min_value=0, max_value=MOST, default=1000)


class PagedSearchIn(AnnotationSearchIn):
    """A search that goes on where another one has ended."""

    cursor = serializers.CharField(required=False, allow_null=True, max_length=500)


class AnnotationFacts(AnswerShape):
    """What a person has said about something, as it counts; `evaluation_id` is where it is kept."""

    id: uuid.UUID
    evaluation_id: str
    annotation_criteria: uuid.UUID
    type: Annotated[str, build_enum(RESOURCE_TYPES)]
    reference: str
    value_pass: bool | None
    value_score: float | None
    value_text: str | None
    explanation: str | None
    created_at: Moment
    updated_at: Moment
    project_id: uuid.UUID | None
    app: str | None
    experiment_id: int | None


class AnnotationAnswer(AnswerWithWarnings):
    """One annotation."""

    annotation: AnnotationFacts


class AnnotationPage(AnswerWithWarnings):
    """Annotations, the newest first."""

    annotations: list[AnnotationFacts]
    next_cursor: str | None


def annotation_out(row: Any) -> AnnotationFacts:
    """Return a row of `labels_of` as the API shows it."""
    return AnnotationFacts(
        id=to_uuid(row.pk),
        evaluation_id=str(row.pk),
        annotation_criteria=row.criteria,
        type=row.resource_type,
        reference=row.reference,
        value_pass=row.passed,
        value_score=row.score,
        value_text=row.text_output,
        explanation=row.explanation,
        created_at=row.created_at,
        updated_at=row.completed_at,
        project_id=row.project_id,
        app=row.app,
        experiment_id=row.experiment_id,
    )


class AnnotationListView(AccountView):
    """What the list and the search share."""

    def build_page(self, condition: Q, asked: Mapping[str, Any]) -> Response:
        """Answer with the labels that meet a condition."""
        self.charge_page(asked["limit"])
        page = search_labels(
            account=self.account, condition=condition, limit=asked["limit"], cursor=asked.get("cursor")
        )
        rows = [annotation_out(row) for row in page.rows]
        return Response(AnnotationPage(annotations=rows, next_cursor=page.next_cursor))


class AnnotationsView(AnnotationListView):
    """Annotations made by people."""

    # As with `annotate`, a repeated request replaces the first one, so a retry needs no stored response.
    remembers_tries = ()

    @extend_schema(
        operation_id="list_annotations",
        tags=["annotations"],
        parameters=[AnnotationsQuery],
        responses=answers_with(AnnotationPage),
    )
    def get(self, request: Request) -> Response:
        """List annotations, newest first, by what they are of and by project."""
        query = self.parse_query(request, AnnotationsQuery)
        columns = {"type": "resource_type", "reference": "reference", "project_id": "project_id"}
        condition = Q(**{column: query[name] for name, column in columns.items() if name in query})
        return self.build_page(condition, query)

    @extend_schema(
        operation_id="upsert_annotation",
        tags=["annotations"],
        request=body_schema(AnnotationBody),
        responses=answers_with(AnnotationAnswer),
    )
    def post(self, request: Request) -> Response:
        """Keep what a person says. The same criteria, type and reference again replace it: nothing counts twice."""
        body = self.decode_body(request, AnnotationBody)
        row = services.annotate(
            account=self.account,
            criteria_id=body.annotation_criteria,
            of=LabelledThing(body.type, body.reference),
            given=body.to_value(),
            created_at=body.created_at,
            criteria_field="annotation_criteria",
        )
        return Response(AnnotationAnswer(annotation=annotation_out(get_label(self.account, row.pk))))


class AnnotationSearchView(AnnotationListView):
    """Annotations by filters."""

    reads = True

    @extend_schema(
        operation_id="search_annotations",
        tags=["annotations"],
        request=PagedSearchIn,
        responses=answers_with(AnnotationPage),
    )
    def post(self, request: Request) -> Response:
        """Return annotations that all filters let through, newest first."""
        serializer = PagedSearchIn(data=request.data)
        query = self.validate_lenient(serializer)
        return self.build_page(label_condition(serializer.initial_data.get("filters")), query)


class AnnotationCriteriaSearchView(AccountView):
    """Criteria by filters."""

    reads = True

    @extend_schema(
        operation_id="search_annotation_criteria",
        tags=["annotations"],
        request=AnnotationSearchIn,
        responses=answers_with(AnnotationCriteriaPage),
    )
    def post(self, request: Request) -> Response:
        """Return annotation criteria that all filters let through, newest first."""
        serializer = AnnotationSearchIn(data=request.data)
        query = self.validate_lenient(serializer)
        filters = serializer.initial_data.get("filters")
        rows = search_criteria(account=self.account, filters=filters, limit=query["limit"])
        return Response(AnnotationCriteriaPage(annotation_criteria=[annotation_criteria_out(row) for row in rows]))
