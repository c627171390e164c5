"""The Pareto front of an experiment's metrics."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.experiments.api.answers.comparisons import ParetoAnswer
from evalsvc.experiments.inference.pareto import pareto_view, split_names
from evalsvc.experiments.selectors import get_plan
from evalsvc.rest.answering.shapes import answers_with


class ParetoIn(serializers.Serializer[Any]):
    """The query of the Pareto front."""

    metrics = serializers.CharField(max_length=500, help_text="Two or three names, with commas between them.")


class ParetoView(AccountView):
    """Trade-offs between metrics."""

    one_snapshot = True

    @extend_schema(
        operation_id="experiment_pareto",
        tags=["experiments"],
        parameters=[ParetoIn],
        responses=answers_with(ParetoAnswer),
    )
    def get(self, request: Request, id: int) -> Response:
        """Return the configs that no other beats on all the metrics, and by whom and how surely the others are."""
        plan = get_plan(account=self.account, id=id)
        query = validate_strict(ParetoIn(data=get_query_params(request)))
        return Response({"experiment_id": str(id), **pareto_view(plan, list(split_names(query["metrics"])))})
