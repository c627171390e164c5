"""/v1/compare: two configs of any runs, example by example."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.experiments.api.answers.comparisons import CompareAnswer
from evalsvc.experiments.inference.pairs.compare import compare, sides
from evalsvc.rest.answering.pagination import read_cursor, write_cursor
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.bodies.fields import StrictText


class CompareIn(serializers.Serializer[Any]):
    """The query of a comparison."""

    a = StrictText(max_length=20, help_text="Id of a config, or of an experiment with one config.")
    b = StrictText(max_length=20, help_text="Id of the other one.")
    metric = StrictText(max_length=100, required=False, help_text="Without it, the primary metric of the first.")
    cluster_by = StrictText(
        max_length=200, required=False, help_text="`metadata.<key>`: what examples share. Without it, as the plans say."
    )
    limit = serializers.IntegerField(min_value=1, max_value=100, default=20, help_text="Examples in one answer.")
    cursor = StrictText(max_length=500, required=False)


class CompareView(AccountView):
    """Two configs of any runs."""

    one_snapshot = True

    @extend_schema(
        operation_id="compare",
        tags=["experiments"],
        parameters=[CompareIn],
        responses=answers_with(CompareAnswer),
    )
    def get(self, request: Request) -> Response:
        """Compare two configs on the examples that both have finished; those on which they differ come first."""
        query = validate_strict(CompareIn(data=get_query_params(request)))
        first, second = sides(account=self.account, a=query["a"], b=query["b"], metric=query.get("metric"))
        cluster_by = query.get("cluster_by")
        of = f"compare:{self.account.pk}:{first.config.pk}:{second.config.pk}:{first.metric.name}"
        offset = read_cursor(query["cursor"], of=of) if query.get("cursor") else 0
        view, has_more = compare(first, second, offset=offset, limit=query["limit"], cluster_by=cluster_by)
        cursor = write_cursor(offset + query["limit"], of=of) if has_more else None
        return Response({**view, "next_cursor": cursor})
