"""POST /v1/otel/logs/search and /v1/otel/spans/search, in the shapes of Patronus' clients."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.answering.unknown import find_unread_members
from evalsvc.rest.bodies.filters import FilterFields
from evalsvc.telemetry.answers import LogList, SpanList, attributes_as_text, log_out, span_out
from evalsvc.telemetry.filters import LOG_FIELDS, MEMBERS, SPAN_FIELDS, telemetry_condition
from evalsvc.telemetry.models import LogRecord, Span
from evalsvc.telemetry.selectors import Telemetry, search

ORDERS = ("timestamp asc", "timestamp desc")


class TelemetrySearchIn(serializers.Serializer[Any]):
    """A search; a filter has `field`, `op` and `value`, or nests others in `and_` and `or_`."""

    filters = serializers.ListField(child=serializers.DictField(), allow_null=True, default=list)
    order = serializers.ChoiceField(choices=ORDERS, default="timestamp desc")
    limit = serializers.IntegerField(min_value=0, max_value=1000, default=1000)


class TelemetrySearchView(AccountView):
    """What both searches share."""

    reads = True

    def search(self, request: Request, model: type[Telemetry], fields: FilterFields) -> list[Telemetry]:
        """Return the rows that all filters let through."""
        serializer = TelemetrySearchIn(data=request.data)
        query = self.validate_lenient(serializer)
        filters = serializer.initial_data.get("filters") or []
        condition = telemetry_condition(filters, fields)
        self.warn_of((), (), find_unread_members(filters, MEMBERS))
        return search(
            account=self.account,
            model=model,
            condition=condition,
            oldest_first=query["order"] == ORDERS[0],
            limit=query["limit"],
        )


class LogSearchView(TelemetrySearchView):
    """Logs by filters."""

    @extend_schema(
        operation_id="search_logs",
        tags=["telemetry"],
        request=TelemetrySearchIn,
        responses=answers_with(LogList),
    )
    def post(self, request: Request) -> Response:
        """Return logs that all filters let through; the values of attributes are texts, as Patronus' clients want."""
        rows = self.search(request, LogRecord, LOG_FIELDS)
        return Response(LogList(logs=[attributes_as_text(log_out(row)) for row in rows]))


class SpanSearchView(TelemetrySearchView):
    """Spans by filters."""

    @extend_schema(
        operation_id="search_spans",
        tags=["telemetry"],
        request=TelemetrySearchIn,
        responses=answers_with(SpanList),
    )
    def post(self, request: Request) -> Response:
        """Return spans that all filters let through; the values of attributes are texts, as Patronus' clients want."""
        rows = self.search(request, Span, SPAN_FIELDS)
        return Response(SpanList(spans=[attributes_as_text(span_out(row)) for row in rows]))
