"""The scores that a monitor reads, in an order that never changes and in which none appears behind what was read.

A score's id is assigned before its transaction commits, so a score of a slow transaction appears behind newer ids.
Scores are therefore read by the transaction that wrote them, and only those of transactions that ended before any that
still runs (`get_horizon`). Up to there nothing can be added, and the order (transaction, id) is final.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models import BigIntegerField, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.fields import TextField
from django.db.models.fields.json import KeyTextTransform

from evalsvc.evaluations.history.read import filter_window
from evalsvc.evaluations.history.scope import Window
from evalsvc.evaluations.models import Evaluation, EvaluationTag, HistoryScore
from evalsvc.monitors.models import Monitor
from evalsvc.tenancy.scope import current_role

LEAST_ID = -(2**63)
"""Below every id: scores made elsewhere of before 2026 have negative ones."""
BACKDATED = timedelta(days=1)
"""Scores dated longer before the baseline are of the past: an import brings them, and nothing happens to them now."""
FIELDS = ("xact", "id", "score", "passed", "sample_hash", "source_id", "created_at", "app", "session")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the order of reading: everything up to it, and the place itself, has been read."""

    xact: str
    id: int


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One score of a history."""

    xact: str
    id: int
    score: float
    passed: bool | None
    sample_hash: int | None
    source_id: int
    created_at: datetime
    app: str | None
    session: str | None

    @property
    def position(self) -> Position:
        """Return its place in the order of reading."""
        return Position(self.xact, self.id)

    @property
    def order(self) -> tuple[int, int]:
        """Return what the order of reading is by."""
        return int(self.xact), self.id

    def get_value(self, estimand: str) -> float | None:
        """Return what the estimand is the mean of; None for a score without a verdict."""
        if estimand == Monitor.Estimand.MEAN_SCORE:
            return self.score
        return None if self.passed is None else float(self.passed)


def get_horizon() -> Position:
    """Return the position before which every score is visible: that of the oldest transaction that still runs."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
        (xact,) = cursor.fetchone()
    return Position(xact, LEAST_ID)


def read_news(monitor: Monitor, horizon: Position, *, limit: int) -> list[ScoreRow]:
    """Return the scores between a monitor's mark and the horizon, in the order of reading."""
    rows = _select(monitor, cluster_by=monitor.cluster_by).filter(
        _is_after(Position(monitor.mark_xact, monitor.mark_id)),
        xact__lt=horizon.xact,
        created_at__gte=monitor.baseline_at - BACKDATED,
    )
    return _build(rows.order_by("xact", "id")[:limit])


def read_run(monitor: Monitor, until: Position, *, limit: int) -> list[ScoreRow]:
    """Return the newest scores that the engine has read since its last start, up to a position, in order of reading."""
    rows = _select(monitor, cluster_by=monitor.cluster_by).filter(
        _is_after(Position(monitor.run_xact, monitor.run_id)),
        Q(xact__lt=until.xact) | Q(xact=until.xact, id__lte=until.id),
        created_at__gte=monitor.baseline_at - BACKDATED,
    )
    return _build(rows.order_by("-xact", "-id")[:limit])[::-1]


def read_baseline(monitor: Monitor, horizon: Position) -> list[ScoreRow]:
    """Return the newest scores of before the horizon, oldest first: those that the monitor will not read."""
    rows = _select(monitor, cluster_by=monitor.cluster_by).filter(xact__lt=horizon.xact)
    return _build(rows.order_by("-id")[: monitor.baseline_scores])[::-1]


def read_tags(account_id: int, evaluation_ids: list[int]) -> dict[int, dict[str, str]]:
    """Return the tags of evaluations that have some."""
    rows = Evaluation.objects.filter(account_id=account_id, id__in=evaluation_ids, request__tags__isnull=False)
    return {id: tags for id, tags in rows.values_list("id", "request__tags") if tags}


def filter_evaluations(rows: QuerySet[Evaluation], window: Window) -> QuerySet[Evaluation]:
    """Narrow evaluations to a monitor's window, as `filter_window` does scores; those of experiments are left out."""
    lookups = {"app": "app", "project": "project_id"}
    rows = rows.filter(experiment_id=None, **{lookups[name]: window[name] for name in lookups if name in window})
    for key, value in window.get("tags", {}).items():
        digest = Func(F("account_id"), Value(key), Value(value), function="tag_digest", output_field=BigIntegerField())
        tags = EvaluationTag.objects.filter(account_id=OuterRef("account_id"), evaluation_id=OuterRef("id"))
        rows = rows.filter(Exists(tags.filter(digest=digest)))
    return rows


def _is_after(position: Position) -> Q:
    # The first condition bounds the scan of the index; PostgreSQL cannot see that from the others.
    return Q(xact__gte=position.xact) & (Q(xact__gt=position.xact) | Q(id__gt=position.id))


def _select(monitor: Monitor, *, cluster_by: str | None) -> QuerySet[HistoryScore, tuple[Any, ...]]:
    rows = HistoryScore.objects.filter(
        account_id=monitor.account_id, evaluator_id=monitor.evaluator_id, profile_name=monitor.profile_name
    )
    session: Any = Value(None, output_field=TextField())
    if cluster_by is not None:
        evaluation = Evaluation.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("source_id"))
        session = Subquery(evaluation.values(session=KeyTextTransform(cluster_by, "request__tags"))[:1])
    return filter_window(rows, monitor.window).annotate(session=session).values_list(*FIELDS)


def _build(rows: QuerySet[HistoryScore, tuple[Any, ...]]) -> list[ScoreRow]:
    return [ScoreRow(str(xact), *row) for xact, *row in rows]


# The monitors with scores behind their mark, whatever their scope: one look at the index for each. And those whose mark
# is of the future: the database was restored into a server that numbers transactions again.
NEWS = """
SELECT m.account_id, m.id FROM monitors_monitor m
WHERE m.state = 'active' AND NOT account_rests(m.account_id) AND (
  m.mark_xact > pg_snapshot_xmax(pg_current_snapshot()) OR EXISTS (
  SELECT FROM evaluations_historyscore h
  WHERE h.account_id = m.account_id AND h.evaluator_id = m.evaluator_id AND h.profile_name = m.profile_name
    AND NOT h.trial AND h.xact >= m.mark_xact AND (h.xact > m.mark_xact OR h.id > m.mark_id)))
ORDER BY m.advanced_at NULLS FIRST, m.id
"""


def list_monitors_with_news() -> Iterator[tuple[int, int]]:
    """Yield account and id of the active monitors with unread scores, those first that waited longest.

    As the system role, over all accounts.
    """
    with connections[current_role()].cursor() as cursor:
        cursor.execute(NEWS)
        yield from cursor.fetchall()
