"""GET /v1/history: the scores of one evaluator under one profile, and the interval of their mean."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.catalog.resolve import ResolvedEvaluator, UnresolvedEvaluator, resolve, resolve_evaluator
from evalsvc.evaluations.history.interval import answer_interval, can_be_undecided, count_undecided
from evalsvc.evaluations.history.lineage import find_origins
from evalsvc.evaluations.history.read import (
    count_endings,
    get_declared_range,
    get_thresholds,
    history_summary,
    list_history,
    profiles_with_scores,
)
from evalsvc.evaluations.history.scope import Window, scope_window
from evalsvc.evaluations.history.selection import read_window
from evalsvc.evaluations.ingest.labels import PREFIX as LABELS
from evalsvc.evaluations.models import EXTERNAL_PREFIX, HistoryScore
from evalsvc.evaluations.wire import history_shapes, shapes
from evalsvc.evaluations.wire.interval_request import (
    DEFAULT_STRATEGY,
    INCLUDE,
    LEVEL,
    LEVELS,
    OF,
    SCOPES,
    IntervalOptions,
    read_query,
)
from evalsvc.evaluations.wire.scores import NO_THRESHOLD, get_verdict_word
from evalsvc.evaluations.wire.truth_shapes import Truth
from evalsvc.judges.calls.endings import TRUNCATED, is_truncated
from evalsvc.projects.selectors import list_apps
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import KeyWarning, answers_with
from evalsvc.rest.basics.nearest import nearest
from evalsvc.rest.bodies.fields import StrictText
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.strategies.registry import HISTORY_STRATEGIES


class HistoryIn(serializers.Serializer[Any]):
    """The query of GET /v1/history."""

    evaluator = serializers.CharField(max_length=255)
    profile = serializers.CharField(max_length=255, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=1000, default=100)
    cursor = serializers.CharField(required=False, max_length=500)
    truth = serializers.CharField(
        required=False, max_length=255, help_text="Id or name of annotation criteria: adds what people would say."
    )
    truth_draw = serializers.UUIDField(
        required=False,
        help_text="The review that drew the labelled scores. Default: the newest that drew from all of them.",
    )
    truth_width = serializers.FloatField(
        required=False, min_value=1e-6, max_value=1e6, help_text="The width that `n_for_width` of `truth` is for."
    )
    truth_by = StrictText(
        max_length=300,
        required=False,
        help_text="Slices of `truth`: by `app`, `revision`, `tags.KEY`, or `evaluator`: others on the same labels.",
    )


ASKED = ("strategy", "level", "of", "scope", "since", "include_experiments", "cluster_by")


def is_interval_parameter(name: str) -> bool:
    """Return whether a query parameter is an option of the interval."""
    return name in ASKED or name.startswith(("scope.", "since."))


def build_parameters() -> list[OpenApiParameter]:
    """Return the OpenAPI parameters for the options of the interval."""
    level = {"type": "number", "minimum": LEVELS[0], "maximum": LEVELS[1], "default": LEVEL}
    return [
        OpenApiParameter("strategy", str, enum=HISTORY_STRATEGIES, default=DEFAULT_STRATEGY),
        OpenApiParameter("level", level),
        OpenApiParameter("of", str, enum=OF, description="Default: `pass` for families whose verdict is the answer."),
        OpenApiParameter("scope", str, enum=["account"], description="The whole account, as without any."),
        OpenApiParameter("include_experiments", str, enum=INCLUDE, description="`none`, or `all` in an experiment."),
        OpenApiParameter("cluster_by", str, description="The name of a tag: equal values are one cluster."),
        *(OpenApiParameter(f"scope.{name}", str, description="At most one scope.") for name in SCOPES[:3]),
        OpenApiParameter("since", {"type": "string", "format": "date-time"}, description="From this time on."),
        OpenApiParameter("since.scores", int, description="The newest so many, 2 to 1000."),
        OpenApiParameter("since.revision", int, description="By this revision of the profile and later ones."),
    ]


@dataclass(frozen=True, slots=True)
class TruthQuery:
    """What is asked about the truth of a history, and which history that is.

    `criteria` is an id or a name; `draw` the id of a review; `by` what slices share.
    """

    criteria: str
    pair: tuple[str, str]
    window: Window
    level: float
    draw: uuid.UUID | None = None
    width: float | None = None
    by: str | None = None


class HistoryView(AccountView):
    """A history and how sure it is."""

    one_snapshot = True

    @extend_schema(
        operation_id="history",
        tags=["history"],
        parameters=[
            HistoryIn,
            *build_parameters(),
            OpenApiParameter(
                "evaluator",
                str,
                required=True,
                description="Id or alias; `external:<name>`; `annotation:<criteria id>`.",
            ),
        ],
        responses=answers_with(history_shapes.History),
    )
    def get(self, request: Request) -> Response:
        """Return captured scores, newest first, with the interval of the newest 1000.

        What the interval is of is asked for as in `confidence_interval_strategy`, flat: `level`, `of`, `scope.app`,
        `scope.project`, `scope.experiment`, `scope.tags.KEY`, `since`, `since.scores`, `since.revision`,
        `include_experiments`, `cluster_by`. The points are those of the same scope.
        """
        query = get_query_params(request)
        query_values = validate_strict(
            HistoryIn(data={name: value for name, value in query.items() if not is_interval_parameter(name)})
        )
        if lone := [
            name for name in ("truth_draw", "truth_width", "truth_by") if name in query and "truth" not in query
        ]:
            raise Invalid(*(FieldError(f"/{name}", "Send `truth` with it.") for name in lone))
        ask = read_query({name: value for name, value in query.items() if is_interval_parameter(name)})
        evaluator_id, profile_name, run = self._resolve(query_values["evaluator"], query_values.get("profile"))
        names = {"evaluator_id": evaluator_id, "profile_name": profile_name}
        window = scope_window(self.account.pk, ask, pointer="")
        rows = list_history(account=self.account, **names, window=window)
        of = f"history:{self.account.pk}:{evaluator_id}:{profile_name}:{sorted(window.items())}"
        points, cursor = page(rows, limit=query_values["limit"], cursor=query_values.get("cursor"), of=of)
        history = read_window(self.account.pk, (evaluator_id, profile_name), ask, window)
        family, has_verdict = (run.family, run.has_verdict) if run else (None, True)
        n_undecided = count_undecided(family, history, ask.most) if has_verdict else 0
        answer: dict[str, Any] = {**names, **history_summary(rows, history, ask, n_undecided=n_undecided)}
        answer["pass_reason"] = None if has_verdict else NO_THRESHOLD
        answer |= {} if has_verdict else {"pass_rate": None}
        declared = None if run else get_declared_range(self.account, evaluator_id, profile_name)
        interval = answer_interval(ask, family, history, has_verdict=has_verdict, declared=declared)
        answer["endings"] = count_endings(self.account, history, ask.most)
        if interval is not None and is_truncated(answer["endings"]):
            interval["warnings"].append(TRUNCATED)
        answer["confidence_interval"] = shapes.interval_shape(interval)
        if not answer["n_total"]:
            answer |= self._build_hints(evaluator_id, profile_name, ask)
        lines = get_thresholds(account=self.account, profile_name=profile_name, run=run, rows=points)
        is_deciding = has_verdict and can_be_undecided(family, history, ask.most)
        point_rows = points_out(self.account.pk, points, lines, can_be_undecided=is_deciding)
        if "truth" in query_values:
            options = {name: query_values.get(f"truth_{name}") for name in ("draw", "width", "by")}
            truth_query = TruthQuery(query_values["truth"], (evaluator_id, profile_name), window, ask.level, **options)
            answer["truth"] = self.read_truth(truth_query)
        return Response(history_shapes.History(**answer, points=point_rows, next_cursor=cursor))

    def read_truth(self, query: TruthQuery) -> Truth:
        """Return what people would say. Reviews know it: their view of a history overrides this."""
        raise NotImplementedError

    def _build_hints(self, evaluator_id: str, profile_name: str, ask: IntervalOptions) -> dict[str, Any]:
        """Return hints for an empty history: other profiles with scores, and a similar app name for an unknown app."""
        profiles = profiles_with_scores(account=self.account, evaluator_id=evaluator_id)
        answer: dict[str, Any] = {"other_profiles": [name for name in profiles if name != profile_name]}
        if ask.scope is None or ask.scope[0] != "app":
            return answer
        name, names = ask.scope[1], list_apps(account=self.account).values_list("name", flat=True)
        if name not in names:
            warning = {"pointer": "/scope.app", "detail": f"No app is named {name!r}."}
            answer["warnings"] = [KeyWarning(**warning, did_you_mean=nearest(name, names))]
        return answer

    def _resolve(self, evaluator: str, profile: str | None) -> tuple[str, str, ResolvedEvaluator | None]:
        """Return the names of the history and the resolved evaluator, which is None for scores from outside the
        service.
        """
        if evaluator.startswith((EXTERNAL_PREFIX, LABELS)):
            return evaluator, profile or "", None
        epoch = self.caller.admission.epoch
        try:
            run = resolve(account_id=self.account.pk, epoch=epoch, evaluator=evaluator, profile=profile)
        except UnresolvedEvaluator as exc:
            field = "/evaluator" if exc.code in ("unknown_evaluator", "evaluator_disabled") else "/profile"
            message = self._format_missing_profile(evaluator) if exc.code == "profile_required" else exc.message
            raise Invalid(FieldError(field, message)) from None
        return run.evaluator_id, run.profile.name, run

    def _format_missing_profile(self, evaluator: str) -> str:
        """Return the message for an evaluator without a default profile, with the profiles that have scores."""
        evaluator_id = resolve_evaluator(self.account.pk, self.caller.admission.epoch, evaluator)[0]
        profiles = profiles_with_scores(account=self.account, evaluator_id=evaluator_id)
        those = f"with scores: {', '.join(profiles)}" if profiles else "none has scores yet"
        return f"Evaluator {evaluator!r} needs a `profile`; {those}."


def points_out(
    account_id: int,
    rows: Sequence[HistoryScore],
    thresholds: Mapping[int | None, float | None],
    *,
    can_be_undecided: bool,
) -> list[history_shapes.ScorePoint]:
    """Return scores of a history, each with where it comes from, and the line of its verdict where its profile has one.

    `score` is what ranks, whatever the answer of its family is on the wire.
    """
    return [
        history_shapes.ScorePoint(
            id=str(row.id),
            created_at=row.created_at,
            score=row.score,
            passed=row.passed,
            verdict=get_verdict_word(row.passed, can_be_undecided=can_be_undecided),
            threshold=thresholds.get(row.revision),
            revision=row.revision,
            source=row.source,
            probability=row.probability,
            **origin,
        )
        for row, origin in zip(rows, find_origins(account_id, rows), strict=True)
    ]
