"""GET /v1/history: the scores of one evaluator under one profile, and the interval of their mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, checked, sent
from evalsvc.catalog.resolve import Unresolved, resolve
from evalsvc.evaluations import openapi, store
from evalsvc.evaluations.answers import digits
from evalsvc.evaluations.client_rows import PREFIX
from evalsvc.evaluations.intervals import interval_of
from evalsvc.evaluations.labels import PREFIX as LABELS
from evalsvc.evaluations.lineage import origins_of
from evalsvc.evaluations.models import HistoryScore
from evalsvc.evaluations.selectors import history_summary, list_history
from evalsvc.rest.pagination import page
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.strategies import STRATEGIES
from evaluators.base import Family


class HistoryIn(serializers.Serializer[Any]):
    """The query of GET /v1/history."""

    evaluator = serializers.CharField(max_length=255)
    profile = serializers.CharField(max_length=255, required=False)
    strategy = serializers.ChoiceField(choices=STRATEGIES, default="full-history")
    level = serializers.FloatField(min_value=0.5, max_value=0.9999, default=0.95)
    limit = serializers.IntegerField(min_value=1, max_value=1000, default=100)
    cursor = serializers.CharField(required=False, max_length=500)


ORIGIN = ("evaluation_id", "experiment_id", "config_id", "output_id", "example_id")
POINT = {
    "type": "object",
    "required": ["id", "created_at", "score", "pass", "source", *ORIGIN],
    "properties": {
        "id": {"type": "string"},
        "created_at": {"type": "string", "format": "date-time"},
        "score": {"type": "number"},
        "pass": {"type": ["boolean", "null"]},
        "source": {"type": "string"},
        **{name: {"type": ["string", "null"]} for name in ORIGIN},
    },
}
ANSWER = {
    "type": "object",
    "required": ["evaluator_id", "profile_name", "n", "n_total", "mean", "pass_rate", "confidence_interval", "points"],
    "properties": {
        "evaluator_id": {"type": "string"},
        "profile_name": {"type": "string"},
        "n": {"type": "integer", "description": "Scores that the interval is of: the newest 1000 at most."},
        "n_total": {"type": "integer", "description": "All captured scores."},
        "mean": {"type": ["number", "null"], "description": "Of the n newest."},
        "pass_rate": {"type": ["number", "null"], "description": "Of the n newest."},
        "confidence_interval": openapi.INTERVAL,
        "points": {"type": "array", "items": POINT},
        "next_cursor": {"type": ["string", "null"]},
    },
}


class HistoryView(AccountView):
    """A history and how sure it is."""

    one_snapshot = True

    @extend_schema(
        operation_id="history",
        tags=["history"],
        parameters=[
            HistoryIn,
            OpenApiParameter(
                "evaluator",
                str,
                required=True,
                description="Id or alias; `external:<name>`; `annotation:<criteria id>`.",
            ),
        ],
        responses={(200, "application/json"): OpenApiResponse(ANSWER)},
    )
    def get(self, request: Request) -> Response:
        """Return the captured scores, newest first, with the interval of the mean of the newest 1000."""
        wanted = checked(HistoryIn(data=sent(request)))
        evaluator_id, profile_name, family = self._resolve(wanted["evaluator"], wanted.get("profile"))
        names = {"evaluator_id": evaluator_id, "profile_name": profile_name}
        rows = list_history(account=self.account, **names)
        points, cursor = page(
            rows,
            limit=wanted["limit"],
            cursor=wanted.get("cursor"),
            of=f"history:{self.account.pk}:{evaluator_id}:{profile_name}",
        )
        (history,) = store.read_histories(self.account.pk, [(evaluator_id, profile_name)])
        interval = interval_of(wanted["strategy"], family, history, level=wanted["level"])
        summary = history_summary(account=self.account, **names)
        answer = {**names, **summary, "confidence_interval": interval}
        return Response({**answer, "points": points_out(self.account.pk, points), "next_cursor": cursor})

    def _resolve(self, evaluator: str, profile: str | None) -> tuple[str, str, Family | None]:
        """Return the names that the history goes by, and the family, which scores made elsewhere do not have."""
        if evaluator.startswith((PREFIX, LABELS)):
            return evaluator, profile or "", None
        epoch = self.caller.admission.epoch
        try:
            run = resolve(account_id=self.account.pk, epoch=epoch, evaluator=evaluator, profile=profile)
        except Unresolved as exc:
            field = "/evaluator" if exc.code in ("unknown_evaluator", "evaluator_disabled") else "/profile"
            raise Invalid(FieldError(field, exc.message)) from None
        return run.evaluator_id, run.profile.name, run.family


def points_out(account_id: int, rows: Sequence[HistoryScore]) -> list[dict[str, Any]]:
    """Return scores of a history, each with where it comes from."""
    return [
        {
            "id": digits(row.id),
            "created_at": row.created_at,
            "score": row.score,
            "pass": row.passed,
            "source": row.source,
            **origin,
        }
        for row, origin in zip(rows, origins_of(account_id, rows), strict=True)
    ]
