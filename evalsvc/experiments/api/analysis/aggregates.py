"""Aggregates: slices of examples, values of a knob, several experiments at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.experiments.api.answers.aggregates import AggregateAnswer
from evalsvc.experiments.bodies.aggregates import AggregatesIn, ManyAggregatesIn
from evalsvc.experiments.inference.aggregates.queries import compute_aggregates, joint_aggregates
from evalsvc.experiments.reporting.aggregate_files import aggregate_csv
from evalsvc.experiments.selectors import get_plan
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.tenancy.scope import account_scope


class AggregatesView(AccountView):
    """Slices and knobs of one experiment."""

    one_snapshot = True

    @extend_schema(
        operation_id="experiment_aggregates",
        tags=["experiments"],
        parameters=[AggregatesIn],
        responses=answers_with(AggregateAnswer),
    )
    def get(self, request: Request, id: int) -> HttpResponseBase:
        """Estimate a metric for each value of a metadata key or of a knob; all the intervals hold together."""
        plan = get_plan(account=self.account, id=id)
        query = validate_strict(AggregatesIn(data=get_query_params(request)))
        return _answer(compute_aggregates(self.account, plan, query), query["format"])


class ManyAggregatesView(AccountView):
    """The same of several experiments."""

    scoped = False
    reads = True

    @extend_schema(
        operation_id="aggregates",
        tags=["experiments"],
        request=ManyAggregatesIn,
        responses=answers_with(AggregateAnswer),
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Put the aggregates of several experiments side by side, or pair each with the first; nothing is stored."""
        query = validate_strict(ManyAggregatesIn(data=request.data))
        with account_scope(self.account.pk, one_snapshot=True):
            return _answer(joint_aggregates(self.account, query), query["format"])


def _answer(table: Mapping[str, Any], form: str) -> HttpResponseBase:
    if form == "json":
        return Response(table)
    response = HttpResponse(aggregate_csv(table), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="aggregates.csv"'
    return response
