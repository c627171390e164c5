"""DELETE /v1/otel/spans."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_unique_query_params, validate_strict
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.bodies.scalars import read_integer
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.telemetry.answers import DeletedTraces
from evalsvc.telemetry.deletion import CONDITIONS, delete_traces


class DeleteTracesIn(serializers.Serializer[Any]):
    """The query of DELETE /v1/otel/spans."""

    app = serializers.CharField(required=False, max_length=255)
    project_id = serializers.UUIDField(required=False)
    experiment_id = serializers.CharField(required=False, max_length=19)
    trace_id = serializers.RegexField(r"\A[0-9a-fA-F]{32}\Z", required=False)

    def validate_experiment_id(self, value: str) -> int:
        """Read the id."""
        number = read_integer(value)
        if number is None:
            raise serializers.ValidationError("An experiment's id is a string of digits.")
        return number

    def validate_trace_id(self, value: str) -> str:
        """Write the id as it is stored."""
        return value.lower()


class SpansView(AccountView):
    """All spans of an account."""

    scoped = False

    @extend_schema(
        operation_id="delete_spans",
        tags=["telemetry"],
        parameters=[DeleteTracesIn],
        responses=answers_with(DeletedTraces),
    )
    def delete(self, request: Request) -> Response:
        """Delete the spans, and the logs, that meet all filters, of which at least one has to be given.

        Goes on for at most 20 seconds: with `done` false, send the same request again.
        """
        query = dict(validate_strict(DeleteTracesIn(data=get_unique_query_params(request))))
        if not query:
            names = ", ".join(f"`{name}`" for name in CONDITIONS)
            raise Invalid(FieldError("", f"Send at least one of {names}."), code="filter_required")
        deleted = delete_traces(account=self.account, filters=query, actor=self.caller.actor)
        return Response(DeletedTraces(n_spans=deleted.n["spans"], n_logs=deleted.n["logs"], done=deleted.done))
