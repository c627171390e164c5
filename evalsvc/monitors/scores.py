"""What a monitor reads, in an order that never changes and in which nothing appears behind what was read.

A score's id is assigned before its transaction commits, so a score of a slow transaction appears behind newer ids.
Scores are therefore read by the transaction that wrote them, and only those of transactions that ended before any that
still runs (`get_horizon`). Up to there nothing can be added, and the order (transaction, id) is final.

A failed evaluation is in no history. A monitor of the error rate reads evaluations by their ids, up to the oldest that
is not finished, and only those that no transaction can add to any more (`rules.horizon`).

Each row has a value, what the monitored mean is of: a score, or 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from django.db import connections
from django.db.models import BigIntegerField, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.fields import TextField
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from evalsvc.evaluations.history.read import filter_window
from evalsvc.evaluations.history.scope import Window
from evalsvc.evaluations.models import Evaluation, EvaluationRequest, EvaluationTag, HistoryScore
from evalsvc.evaluations.wire.answer import parse_usage
from evalsvc.monitors.labels import find_verdicts, get_history
from evalsvc.monitors.models import Monitor
from evalsvc.rules.horizon import read_horizon
from evalsvc.tenancy.scope import EPOCH, current_role

LEAST_ID = -(2**63)
"""Below every id: scores made elsewhere of before 2026 have negative ones."""
BACKDATED = timedelta(days=1)
"""Scores dated longer before the baseline are of the past: an import brings them, and nothing happens to them now."""
MARKS = "marks"
"""In the progress of a monitor that reads evaluations: moments until which all of them will be visible."""
FAILED_AT = "failed_at"
"""In the progress of a monitor whose last round has ended in an error: when that was."""
CLOCK_SLACK = timedelta(minutes=1)
FIELDS = ("xact", "id", "sample_hash", "source_id", "created_at", "app", "session", "drawn")
MEASURED = ("score", "passed", "measure")
FAILED = (Evaluation.Status.ERROR, Evaluation.Status.VALIDATION_ERROR)
Estimand = Monitor.Estimand
COUNTS_UNDECIDED = (Estimand.PASS_RATE, Estimand.UNDECIDED_RATE)
Rows: TypeAlias = QuerySet[Any, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the order of reading: everything up to it, and the place itself, has been read."""

    xact: str
    id: int


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One score of a history, or one evaluation; its value is None where it is left out."""

    xact: str
    id: int
    sample_hash: int | None
    source_id: int
    created_at: datetime
    app: str | None
    session: str | None
    probability: float
    """With which a rule drew it; 1 for what no rule has drawn."""
    value: float | None
    is_undecided: bool

    @property
    def position(self) -> Position:
        """Return its place in the order of reading."""
        return Position(self.xact, self.id)

    @property
    def order(self) -> tuple[int, int]:
        """Return what the order of reading is by."""
        return int(self.xact), self.id


def get_horizon() -> Position:
    """Return the position before which every score is visible: that of the oldest transaction that still runs."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
        (xact,) = cursor.fetchone()
    return Position(xact, LEAST_ID)


def get_start(monitor: Monitor) -> Position:
    """Return where a monitor begins to read: behind all that is visible now."""
    horizon = get_horizon()
    if not monitor.is_of_evaluations:
        return horizon
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SELECT id_at(clock_timestamp())")
        (id,) = cursor.fetchone()
    return Position(horizon.xact, id)


def find_end(monitor: Monitor, horizon: Position) -> Position:
    """Return how far a monitor may read: to the horizon, or to the id below which every evaluation is finished."""
    if not monitor.is_of_evaluations:
        return horizon
    complete = read_horizon(monitor.mark_id, monitor.progress.get(MARKS, []))
    monitor.progress = monitor.progress | {MARKS: complete.marks}
    rows = Evaluation.objects.filter(
        account_id=monitor.account_id, status=Evaluation.Status.PENDING, evaluator_id=monitor.evaluator_id,
        profile_name=monitor.profile_name, id__gt=monitor.mark_id, id__lt=complete.safe_id,
        request__capture=EvaluationRequest.Capture.ALL,
    )  # fmt: skip
    # Pending evaluations have no rows of tags yet.
    window: Any = {name: value for name, value in monitor.window.items() if name != "tags"}
    pending = filter_evaluations(rows, window).order_by("id").values_list("id", flat=True).first()
    return Position(horizon.xact, max(monitor.mark_id, (complete.safe_id if pending is None else pending) - 1))


def read_news(monitor: Monitor, end: Position, *, limit: int) -> list[ScoreRow]:
    """Return the rows between a monitor's mark and an end (of `find_end`), in the order of reading."""
    mark = Position(monitor.mark_xact, monitor.mark_id)
    ended = Q(id__lte=end.id) if monitor.is_of_evaluations else Q(xact__lt=end.xact)
    rows = _select(monitor).filter(_is_after(monitor, mark), ended, created_at__gte=monitor.baseline_at - BACKDATED)
    return _build(monitor, rows.order_by(*_list_order(monitor))[:limit])


def read_run(monitor: Monitor, until: Position, *, limit: int) -> list[ScoreRow]:
    """Return the newest rows that the engine has read since its last start, up to a position, in order of reading."""
    start = Position(monitor.run_xact, monitor.run_id)
    ended = Q(id__lte=until.id)
    if not monitor.is_of_evaluations:
        ended = Q(xact__lt=until.xact) | Q(xact=until.xact) & ended
    rows = _select(monitor).filter(_is_after(monitor, start), ended, created_at__gte=monitor.baseline_at - BACKDATED)
    return _build(monitor, rows.order_by(*_list_order(monitor, "-"))[:limit])[::-1]


def read_baseline(monitor: Monitor, start: Position) -> list[ScoreRow]:
    """Return the newest rows of before a start, oldest first: those that the monitor will not read."""
    rows = _select(monitor).filter(Q(id__lt=start.id) if monitor.is_of_evaluations else Q(xact__lt=start.xact))
    # Of evaluations there is an index by time, which ids follow.
    order = ("-created_at", "-id") if monitor.is_of_evaluations else ("-id",)
    return _build(monitor, rows.order_by(*order)[: monitor.baseline_scores])[::-1]


def read_measures(monitor: Monitor, start: Position) -> list[tuple[float, float]]:
    """Return the seconds, tokens or cost of the newest scores of before a start, with the probability of each."""
    rows = _select(monitor).filter(xact__lt=start.xact).order_by("-id")[: monitor.baseline_scores]
    measures = ((_get_number(monitor, row[-1]), _get_probability(row[FIELDS.index("drawn")])) for row in rows)
    return [(number, probability) for number, probability in measures if number is not None]


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


def _list_order(monitor: Monitor, sign: str = "") -> list[str]:
    return [f"{sign}{name}" for name in (("id",) if monitor.is_of_evaluations else ("xact", "id"))]


def _is_after(monitor: Monitor, position: Position) -> Q:
    if monitor.is_of_evaluations:
        # An evaluation is made after its id. The time bounds the scan of the index.
        began = EPOCH + timedelta(milliseconds=position.id >> 22) - CLOCK_SLACK
        return Q(id__gt=position.id, created_at__gte=began)
    # The first condition bounds the scan of the index; PostgreSQL cannot see that from the others.
    return Q(xact__gte=position.xact) & (Q(xact__gt=position.xact) | Q(id__gt=position.id))


def _select(monitor: Monitor) -> Rows:
    return _select_evaluations(monitor) if monitor.is_of_evaluations else _select_scores(monitor)


def _select_scores(monitor: Monitor) -> Rows:
    evaluator_id, profile_name = get_history(monitor)
    rows = HistoryScore.objects.filter(
        account_id=monitor.account_id, evaluator_id=evaluator_id, profile_name=profile_name
    )
    evaluation = Evaluation.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("source_id"))
    session: Any = Value(None, output_field=TextField())
    if monitor.cluster_by is not None:
        session = Subquery(evaluation.values(session=KeyTextTransform(monitor.cluster_by, "request__tags"))[:1])
    measure: Any = Value(None, output_field=TextField())
    if monitor.estimand == Estimand.LATENCY:
        measure = Subquery(evaluation.values("duration_us")[:1])
    elif monitor.estimand in (Estimand.TOKENS, Estimand.COST):
        measure = Subquery(evaluation.values(judge=KeyTransform("judge", "extra"))[:1])
    selected = filter_window(rows, monitor.window).annotate(session=session, measure=measure, drawn=F("probability"))
    return selected.values_list(*FIELDS, *MEASURED)


def filter_captured(monitor: Monitor) -> QuerySet[Evaluation]:
    """Return the evaluations of a monitor's window that are kept whatever their verdict."""
    rows = Evaluation.objects.filter(
        account_id=monitor.account_id, evaluator_id=monitor.evaluator_id, profile_name=monitor.profile_name,
        captured=True, request__capture=EvaluationRequest.Capture.ALL,
    )  # fmt: skip
    return filter_evaluations(rows, monitor.window)


def _select_evaluations(monitor: Monitor) -> Rows:
    session: Any = Value(None, output_field=TextField())
    if monitor.cluster_by is not None:
        session = KeyTextTransform(monitor.cluster_by, "request__tags")
    selected = filter_captured(monitor).annotate(
        xact=Value(monitor.mark_xact or "0", output_field=TextField()), sample_hash=F("request__sample_hash"),
        source_id=F("id"), session=session, measure=F("status"), drawn=F("request__probability"),
    )  # fmt: skip
    return selected.values_list(*FIELDS, *MEASURED)


def _build(monitor: Monitor, rows: Rows) -> list[ScoreRow]:
    read = list(rows)
    verdicts = find_verdicts(monitor, [row[1] for row in read]) if monitor.labels is not None else {}
    built = []
    for xact, id, sample_hash, source_id, created_at, app, session, drawn, score, passed, measure in read:
        value = _compute_value(monitor, score, passed, verdicts.get(id) if monitor.labels is not None else measure)
        undecided = monitor.estimand in COUNTS_UNDECIDED and is_undecided(passed)
        place = str(xact), id, sample_hash, source_id, created_at, app, session
        built.append(ScoreRow(*place, _get_probability(drawn), value, undecided))
    return built


def _get_probability(drawn: float | None) -> float:
    return 1.0 if drawn is None else drawn


def is_undecided(passed: bool | None) -> bool:
    """Return whether a score of an evaluator with verdicts is undecided."""
    return passed is None


def _compute_value(monitor: Monitor, score: float, passed: bool | None, measure: Any) -> float | None:
    """Return what the estimand is the mean of; None for a row that is left out, such as one without a verdict."""
    match monitor.estimand:
        case Estimand.MEAN_SCORE:
            return score
        case Estimand.UNDECIDED_RATE:
            return float(is_undecided(passed))
        case Estimand.ERROR_RATE:
            return float(measure in FAILED)
        case Estimand.AGREEMENT:
            return None if passed is None or measure is None else float(passed == measure)
        case Estimand.LATENCY | Estimand.TOKENS | Estimand.COST:
            number = _get_number(monitor, measure)
            return None if number is None or monitor.above is None else float(number > monitor.above)
    return None if passed is None else float(passed)


def _get_number(monitor: Monitor, measure: Any) -> float | None:
    """Return seconds from microseconds, or the tokens or the cost of a judge."""
    if monitor.estimand == Estimand.TOKENS:
        usage = parse_usage({"judge": measure})
        return float(sum(usage.values())) if usage else None
    if monitor.estimand == Estimand.COST:
        cost = measure.get("cost") if isinstance(measure, dict) else None
        return float(cost) if isinstance(cost, int | float) else None
    return None if measure is None else measure / 1e6


# The monitors with scores behind their mark, whatever their scope: one look at the index for each. Those of volume with
# a quarter that is over. And those whose mark is of the future: the database was restored into a server that numbers
# transactions again.
NEWS = """
SELECT m.account_id, m.id FROM monitors_monitor m
WHERE m.state = 'active' AND NOT account_rests(m.account_id) AND (
  m.mark_xact > pg_snapshot_xmax(pg_current_snapshot()) OR m.estimand NOT IN ('error_rate', 'volume') AND EXISTS (
  SELECT FROM evaluations_historyscore h
  WHERE h.account_id = m.account_id AND h.evaluator_id = coalesce('annotation:' || m.labels, m.evaluator_id)
    AND h.profile_name = CASE WHEN m.labels IS NULL THEN m.profile_name ELSE '' END
    AND NOT h.trial AND h.xact >= m.mark_xact AND (h.xact > m.mark_xact OR h.id > m.mark_id))
  OR m.estimand = 'error_rate' AND EXISTS (
  SELECT FROM evaluations_evaluation e
  WHERE e.account_id = m.account_id AND e.evaluator_id = m.evaluator_id AND e.profile_name = m.profile_name
    AND e.captured AND e.id > m.mark_id AND e.created_at >= timestamptz '2026-01-01 00:00+00'
      + (m.mark_id >> 22) * interval '1 millisecond' - interval '1 minute')
  OR m.estimand = 'volume' AND clock_timestamp() >= timestamptz '2026-01-01 00:00+00'
      + ((m.progress #>> '{counts,next}')::bigint + 1) * m.period_minutes * interval '15 seconds')
ORDER BY greatest(m.advanced_at, (m.progress ->> 'failed_at')::timestamptz) NULLS FIRST, m.id
"""


def list_monitors_with_news() -> Iterator[tuple[int, int]]:
    """Yield account and id of the active monitors with unread scores, those first that waited longest.

    As the system role, over all accounts.
    """
    with connections[current_role()].cursor() as cursor:
        cursor.execute(NEWS)
        yield from cursor.fetchall()
