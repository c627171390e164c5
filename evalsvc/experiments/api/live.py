"""Monitoring of an experiment: current estimates, decisions, looks, and the recount."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, HttpResponseNotModified
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.experiments.api.answers.live import DecisionPage, LiveAnswer, LooksAnswer, RecountAnswer
from evalsvc.experiments.bodies import plans
from evalsvc.experiments.maintenance.recount import recount
from evalsvc.experiments.reporting.live.looks import looks_view
from evalsvc.experiments.reporting.live.stamp import compute_etag
from evalsvc.experiments.reporting.live.view import decision_out, live_view
from evalsvc.experiments.reporting.references import load_references
from evalsvc.experiments.selectors import get_plan, list_configs, list_decisions
from evalsvc.infra.cache import BoundedCache
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.renderers import dumps
from evalsvc.rest.answering.shapes import answers_with

MAX_REMEMBERED = 200
FRESH_SECONDS = 0.5
_remembered: BoundedCache[int, tuple[str, bytes]] = BoundedCache(MAX_REMEMBERED, seconds=lambda: FRESH_SECONDS)


class LiveView(AccountView):
    """An experiment while it runs."""

    bare = ("GET",)
    one_snapshot = True

    @extend_schema(
        operation_id="experiment_live",
        tags=["experiments"],
        responses={**answers_with(LiveAnswer), 304: None},
    )
    def get(self, request: Request, id: int) -> HttpResponse:
        """Return every config's estimates and the leader. Send the `ETag` back as `If-None-Match`: 304 says unchanged.

        All who watch share one computed view, so a hundred of them cost little more than one.
        """
        plan = get_plan(account=self.account, id=id)
        etag = compute_etag(plan)
        if etag in [tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")]:
            return _set_etag(HttpResponseNotModified(), etag)
        return _set_etag(HttpResponse(self._body(plan, etag), content_type="application/json"), etag)

    def _body(self, plan: Any, etag: str) -> bytes:
        cached = _remembered.get(plan.pk)
        if cached is not None and cached[0] == etag:
            return cached[1]
        body = dumps({**live_view(plan), "references": load_references(plan)})
        _remembered.put(plan.pk, (etag, body))
        return body


def _set_etag(response: HttpResponse, etag: str) -> HttpResponse:
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    return response


class LooksView(AccountView):
    """The estimates at the end of each shard."""

    bare = ("GET",)
    one_snapshot = True

    @extend_schema(
        operation_id="experiment_looks",
        tags=["experiments"],
        responses=answers_with(LooksAnswer),
    )
    def get(self, request: Request, id: int) -> Response:
        """Return, by config id, what each metric was when the config had finished each shard."""
        plan = get_plan(account=self.account, id=id)
        configs = list(list_configs(account=self.account, experiment_id=id))
        return Response({"shard_ends": list(plan.shard_ends), "looks": looks_view(plan, configs)})


class DecisionsView(AccountView):
    """What was stopped, and why."""

    @extend_schema(
        operation_id="experiment_decisions",
        tags=["experiments"],
        parameters=[plans.PageIn],
        responses=answers_with(DecisionPage),
    )
    def get(self, request: Request, id: int) -> Response:
        """List the decisions with their evidence, newest first."""
        get_plan(account=self.account, id=id)
        query = validate_strict(plans.PageIn(data=get_query_params(request)))
        rows, cursor = page(
            list_decisions(account=self.account, experiment_id=id),
            limit=query["limit"],
            cursor=query.get("cursor"),
            of=f"decisions:{self.account.pk}:{id}",
        )
        return Response({"decisions": [decision_out(row) for row in rows], "next_cursor": cursor})


class RecountView(AccountView):
    """The books, counted again."""

    bare = ("GET",)
    one_snapshot = True

    @extend_schema(
        operation_id="recount_experiment",
        tags=["experiments"],
        responses=answers_with(RecountAnswer),
    )
    def get(self, request: Request, id: int) -> Response:
        """Count every sum again from the single scores, and say where the books differ from them: nowhere."""
        get_plan(account=self.account, id=id)
        differences = recount(id)
        return Response(RecountAnswer(equal=not differences, differences=differences))
