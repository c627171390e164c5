"""GET /v1/evaluations/{id} and POST /v1/evaluations/search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F, Q
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import PAGE_PARAMS, AccountView
from evalsvc.evaluations.database.lookups import AnyOf
from evalsvc.evaluations.history.lineage import build_planned_warnings
from evalsvc.evaluations.search.filters import MAX_LOG_IDS, MEMBERS, evaluation_condition, experiments_in
from evalsvc.evaluations.search.pages import fetch_requests, get_revision_settings, search_evaluations
from evalsvc.evaluations.selectors import get_evaluation
from evalsvc.evaluations.wire.answer import evaluation_out
from evalsvc.evaluations.wire.interval_request import first_id
from evalsvc.evaluations.wire.shapes import EvaluationEnvelope, EvaluationPage
from evalsvc.rest.answering.offsets import OffsetList
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.answering.unknown import find_unread_members
from evalsvc.rest.problems import FieldError, Invalid

# Each row before it is read and left out.
MAX_OFFSET = 100_000


class SearchIn(serializers.Serializer[Any]):
    """A search; `and_` and `or_` nest."""

    filters = serializers.ListField(child=serializers.DictField(), default=list, allow_null=True)
    limit = serializers.IntegerField(min_value=0, max_value=10_000, default=1000)
    cursor = serializers.CharField(required=False, allow_null=True, max_length=500)
    offset = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=MAX_OFFSET)
    trace_id = serializers.CharField(required=False, allow_null=True, max_length=255)
    log_id_in = serializers.ListField(
        child=serializers.CharField(max_length=255), required=False, allow_null=True, max_length=MAX_LOG_IDS
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, object]:
        """Refuse a page that begins at two places."""
        if attrs.get("cursor") and attrs.get("offset") is not None:
            raise Invalid(FieldError("/offset", "Send `cursor` or `offset`, not both."))
        return attrs


class EvaluationView(AccountView):
    """One captured evaluation."""

    @extend_schema(
        operation_id="evaluation",
        tags=["evaluations"],
        responses=answers_with(EvaluationEnvelope),
    )
    def get(self, request: Request, id: int) -> Response:
        """Return a captured evaluation by its id."""
        row = get_evaluation(account=self.account, id=id)
        config = get_revision_settings(account=self.account, profile_id=row.profile_id, number=row.profile_revision)
        return Response(EvaluationEnvelope(evaluation=evaluation_out(row, config=config)))


class EvaluationSearchView(AccountView):
    """Captured evaluations by filters."""

    shows_evaluations = True
    reads = True

    @extend_schema(
        operation_id="search_evaluations",
        tags=["evaluations"],
        request=SearchIn,
        responses=answers_with(EvaluationPage),
    )
    def post(self, request: Request) -> Response:
        """Return captured evaluations, newest first, that all filters let through.

        A filter names `field`, `operation` and `value`, or nests others in `and_` and `or_`.
        """
        serializer = SearchIn(data=request.data)
        query = self.validate_lenient(serializer)
        self.charge_page(query["limit"])
        filters = serializer.initial_data.get("filters") or []
        wanted_rows = evaluation_condition(filters) & _older_filters(query)
        plans = build_planned_warnings(self.account.pk, experiments_in(filters), "/filters")
        self.warn_of((), (), [*find_unread_members(filters, MEMBERS), *plans])
        offset, offset_list = query.get("offset") or 0, self._get_offset_list(request, serializer.initial_data)
        evaluations = search_evaluations(
            account=self.account,
            condition=wanted_rows & offset_list.read_condition() if offset else wanted_rows,
            limit=query["limit"],
            cursor=query.get("cursor"),
            offset=query.get("offset"),
        )
        if evaluations.next_cursor and not offset and not query.get("cursor"):
            offset_list.keep_newest(max(first_id(timezone.now()), *(row.id for row in evaluations.rows)))
        requests = fetch_requests(account=self.account, request_ids=[row.request_id for row in evaluations.rows])
        # What is deleted meanwhile is left out.
        rows = [evaluation_out(row, requests[row.request_id]) for row in evaluations.rows if row.request_id in requests]
        return Response(EvaluationPage(evaluations=rows, next_cursor=evaluations.next_cursor))

    def _get_offset_list(self, request: Request, body: Mapping[str, Any]) -> OffsetList:
        """Return the list of this search: its ids grow, whatever time an evaluation has."""
        wanted = sorted((name, str(value)) for name, value in body.items() if name not in PAGE_PARAMS)
        return OffsetList(f"{self.account.pk} {self.caller.actor} {request.path} {wanted}", by="id")


def _older_filters(wanted: Mapping[str, Any]) -> Q:
    combined = Q()
    if trace_id := wanted.get("trace_id"):
        combined &= Q(trace_id=trace_id)
    if (log_ids := wanted.get("log_id_in")) is not None:
        combined &= Q(AnyOf(F("log_id"), log_ids))
    return combined
