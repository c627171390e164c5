"""The confusion matrix of a config's labels."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.experiments.api.answers.comparisons import ConfusionAnswer
from evalsvc.experiments.bodies.plans import pointer
from evalsvc.experiments.inference.confusion import LabelQuery, confusion_view, find_config
from evalsvc.experiments.selectors import get_plan, list_configs
from evalsvc.rest.answering.shapes import answers_with


class ConfusionIn(serializers.Serializer[Any]):
    """The query of a confusion matrix."""

    config = serializers.CharField(max_length=100, required=False, help_text="Id or name; needed with several.")
    predicted = serializers.CharField(max_length=200, default="/output", validators=[pointer])
    actual = serializers.CharField(max_length=200, default="/expected", validators=[pointer])
    ignore_case = serializers.BooleanField(default=False)
    level = serializers.FloatField(min_value=0.5, max_value=0.9999, required=False)
    seed = serializers.IntegerField(min_value=0, max_value=2**63 - 1, default=0)


class ConfusionView(AccountView):
    """How well a config tells classes apart."""

    one_snapshot = True

    @extend_schema(
        operation_id="experiment_confusion",
        tags=["experiments"],
        parameters=[ConfusionIn],
        responses=answers_with(ConfusionAnswer),
    )
    def get(self, request: Request, id: int) -> Response:
        """Return how often each label was given for each that is right, and how well each class is told apart."""
        plan = get_plan(account=self.account, id=id)
        query = dict(validate_strict(ConfusionIn(data=get_query_params(request))))
        configs = list(list_configs(account=self.account, experiment_id=id))
        config = find_config(configs, query.pop("config", None))
        return Response({"experiment_id": str(id), **confusion_view(plan, config, LabelQuery(**query))})
