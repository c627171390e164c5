"""DELETE of one evaluation and of many."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_unique_query_params, validate_strict
from evalsvc.evaluations.api.search import EvaluationView
from evalsvc.evaluations.maintenance.deletion import COLUMNS, delete_evaluation, delete_evaluations
from evalsvc.evaluations.wire.history_shapes import DeletedEvaluations
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import FieldError, Invalid


class OneEvaluationView(EvaluationView):
    """A single evaluation, which can be deleted."""

    @extend_schema(
        operation_id="delete_evaluation",
        tags=["evaluations"],
        responses={204: OpenApiResponse(description="It is gone, and no interval counts its score any more.")},
    )
    def delete(self, request: Request, id: int) -> Response:
        """Delete an evaluation with its score in the history; its request goes with the last one of it."""
        delete_evaluation(account=self.account, id=id, actor=self.caller.actor)
        return Response(status=204)


DEFAULT_BATCH = 1000
"""How many go in one transaction unless somebody says, or says 0 as clients do that mean nothing by it."""


class DeleteIn(serializers.Serializer[Any]):
    """The query of DELETE /v1/evaluations."""

    app = serializers.CharField(required=False, max_length=50)
    project_id = serializers.UUIDField(required=False)
    experiment_id = serializers.CharField(required=False, max_length=19)
    evaluator_family = serializers.CharField(required=False, max_length=60)
    evaluator_criteria_id = serializers.UUIDField(required=False)
    trace_id = serializers.CharField(required=False, max_length=255)
    batch_size = serializers.IntegerField(min_value=0, max_value=10_000, default=DEFAULT_BATCH)

    def validate_experiment_id(self, value: str) -> int:
        """Read the id."""
        if not is_bigint(value):
            raise serializers.ValidationError("An experiment's id is a string of digits.")
        return int(value)


class EvaluationsView(AccountView):
    """All evaluations of an account."""

    scoped = False

    @extend_schema(
        operation_id="delete_evaluations",
        tags=["evaluations"],
        parameters=[DeleteIn],
        responses=answers_with(DeletedEvaluations),
    )
    def delete(self, request: Request) -> Response:
        """Delete the evaluations that meet all filters, of which at least one has to be given; pending ones too.

        Goes on for at most 20 seconds: with `done` false, send the same request again.
        """
        filters = dict(validate_strict(DeleteIn(data=get_unique_query_params(request))))
        batch_size = filters.pop("batch_size") or DEFAULT_BATCH
        if not filters:
            names = ", ".join(f"`{name}`" for name in COLUMNS)
            raise Invalid(FieldError("", f"Send at least one of {names}."), code="filter_required")
        deleted = delete_evaluations(
            account=self.account, filters=filters, batch_size=batch_size, actor=self.caller.actor
        )
        return Response(DeletedEvaluations(n_deleted=deleted.n, done=deleted.done))
