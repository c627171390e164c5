"""/v1/annotation-criteria and POST /v1/annotate: labels that people give to logs."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.annotations import services
from evalsvc.annotations.bodies import AnnotateBody, CriteriaBody, NewCriteriaBody
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.selectors import get_criteria, list_criteria
from evalsvc.annotations.values import RESOURCE_TYPES, LabelledThing
from evalsvc.evaluations.ingest.labels import LOG
from evalsvc.evaluations.wire.answer import evaluation_out
from evalsvc.evaluations.wire.shapes import EvaluationEnvelope
from evalsvc.rest.answering.shapes import AnswerShape, AnswerWithWarnings, Moment, answers_with, build_enum, build_shape
from evalsvc.rest.bodies.schemas import body_schema


class AnnotationCriteriaQuery(serializers.Serializer[Any]):
    """The query of GET /v1/annotation-criteria."""

    project_id = serializers.UUIDField(required=False)
    limit = serializers.IntegerField(min_value=0, max_value=services.MAX_CRITERIA, default=services.MAX_CRITERIA)
    offset = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)


class CategoryFacts(AnswerShape):
    """One of the answers that a criteria offers."""

    label: str | None
    score: float | None


class AnnotationCriteriaFacts(AnswerShape):
    """A question that people answer about logs."""

    id: uuid.UUID
    project_id: uuid.UUID
    name: str
    description: str | None
    annotation_type: Annotated[str, build_enum(AnnotationCriteria.Type.values)]
    categories: list[CategoryFacts] | None
    resource_types: list[Annotated[str, build_enum(RESOURCE_TYPES)]]
    created_at: Moment
    updated_at: Moment


class AnnotationCriteriaAnswer(AnswerWithWarnings):
    """One question."""

    annotation_criteria: AnnotationCriteriaFacts


class AnnotationCriteriaPage(AnswerWithWarnings):
    """Questions, the newest first."""

    annotation_criteria: list[AnnotationCriteriaFacts]


def annotation_criteria_out(row: AnnotationCriteria) -> AnnotationCriteriaFacts:
    """Return a criteria as the API shows it."""
    return build_shape(row, AnnotationCriteriaFacts)


ENVELOPE = answers_with(AnnotationCriteriaAnswer)


class AllAnnotationCriteriaView(AccountView):
    """The account's questions."""

    @extend_schema(
        operation_id="list_annotation_criteria",
        tags=["annotations"],
        parameters=[AnnotationCriteriaQuery],
        responses=answers_with(AnnotationCriteriaPage),
    )
    def get(self, request: Request) -> Response:
        """List annotation criteria, newest first, or those of one project. `warnings` names unknown parameters."""
        query = self.parse_query(request, AnnotationCriteriaQuery)
        rows = list_criteria(account=self.account, project_id=query.get("project_id"))
        page = self.get_offset_list(request).take_page(rows, limit=query["limit"], offset=query["offset"])
        return Response(AnnotationCriteriaPage(annotation_criteria=[annotation_criteria_out(row) for row in page]))

    @extend_schema(
        operation_id="create_annotation_criteria",
        tags=["annotations"],
        request=body_schema(NewCriteriaBody),
        responses=ENVELOPE,
    )
    def post(self, request: Request) -> Response:
        """Make annotation criteria. The name is unique within the project."""
        body = self.decode_body(request, NewCriteriaBody)
        row = services.create_criteria(
            account=self.account, project_id=body.project_id, fields=body.fields(), actor=self.caller.actor
        )
        return Response(AnnotationCriteriaAnswer(annotation_criteria=annotation_criteria_out(row)))


class AnnotationCriteriaView(AccountView):
    """One question."""

    @extend_schema(operation_id="get_annotation_criteria", tags=["annotations"], responses=ENVELOPE)
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """Return annotation criteria by their id."""
        row = get_criteria(account=self.account, id=id)
        return Response(AnnotationCriteriaAnswer(annotation_criteria=annotation_criteria_out(row)))

    @extend_schema(
        operation_id="revise_annotation_criteria",
        tags=["annotations"],
        request=body_schema(CriteriaBody),
        responses=ENVELOPE,
    )
    def put(self, request: Request, id: uuid.UUID) -> Response:
        """Replace all but the project. The type stays once labels have been given, and labels keep their scores."""
        criteria = get_criteria(account=self.account, id=id)
        fields = self.decode_body(request, CriteriaBody).fields()
        row = services.revise_criteria(account=self.account, criteria=criteria, fields=fields, actor=self.caller.actor)
        return Response(AnnotationCriteriaAnswer(annotation_criteria=annotation_criteria_out(row)))

    @extend_schema(
        operation_id="delete_annotation_criteria",
        tags=["annotations"],
        responses={204: OpenApiResponse(description="Nobody annotates by it any more; labels stay.")},
    )
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """Take annotation criteria out of use. Labels that were given by it stay: they are scores."""
        criteria = get_criteria(account=self.account, id=id)
        services.archive_criteria(account=self.account, criteria=criteria, now=timezone.now(), actor=self.caller.actor)
        return Response(status=204)


class AnnotateView(AccountView):
    """Labels that people give to logs."""

    # A repeated label replaces the first one, so a retry does no harm and needs no stored answer.
    remembers_tries = ()

    @extend_schema(
        operation_id="annotate",
        tags=["annotations"],
        request=body_schema(AnnotateBody),
        responses=answers_with(EvaluationEnvelope),
    )
    def post(self, request: Request) -> Response:
        """Keep what a person says about a log. The same criteria and log again replace it: nothing counts twice."""
        body = self.decode_body(request, AnnotateBody)
        row = services.annotate(
            account=self.account,
            criteria_id=body.annotation_criteria_id,
            of=LabelledThing(LOG, body.log_id),
            given=body.to_value(),
        )
        return Response(EvaluationEnvelope(evaluation=evaluation_out(row)))
