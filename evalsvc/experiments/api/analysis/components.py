"""Integrated and isolated mode side by side."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.experiments.api.answers.components import ComponentsAnswer
from evalsvc.experiments.inference.gaps import gaps_view
from evalsvc.experiments.selectors import get_plan, list_configs
from evalsvc.rest.answering.shapes import answers_with


class ComponentsView(AccountView):
    """The components that limit a pipeline."""

    bare = ("GET",)
    one_snapshot = True

    @extend_schema(operation_id="experiment_components", tags=["experiments"], responses=answers_with(ComponentsAnswer))
    def get(self, request: Request, id: int) -> Response:
        """Return what each component gains from perfect predecessors, and which component holds a config back most."""
        plan = get_plan(account=self.account, id=id)
        return Response(gaps_view(plan, list(list_configs(account=self.account, experiment_id=id))))
