"""Filter, order and paginate outputs with their scores and examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, F, FloatField, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsvc.accounts.models import Account
from evalsvc.datasets.models import Example
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.pairs.compare import hash_joins
from evalsvc.experiments.models import Config, ExperimentPlan, Output, Score
from evalsvc.experiments.reporting.by_component import group_by_component
from evalsvc.experiments.selectors import list_outputs
from evalsvc.judges.calls import endings
from evalsvc.rest.answering.pagination import page, read_number_cursor, write_number_cursor
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import account_scope

PAGE_ROWS = 500
OK, ERROR, FAILED, NOT_APPLICABLE, UNDECIDED, PENDING = STATUSES = (
    *("ok", "error", "failed", "not_applicable", "undecided", "pending"),
)
NO_ERRORS = (NOT_APPLICABLE, UNDECIDED)
"""Error codes of scores that are missing although nothing has failed; each is a status, too."""
ON_REQUEST = ("contexts", "metadata")
SCORE_FACTS = (
    *("value", "denominator", "passed", "error_code", "error_message", "explanation"),
    *("spans", "extra", "judge_cost", "n_scored", "within", "samples"),
)


@dataclass(frozen=True, slots=True)
class OutputSelection:
    """Which results, and in what order. `status` is of one metric's scores if one is named, else of the whole row."""

    config_id: int | None = None
    output_id: int | None = None
    example_id: str | None = None
    status: str | None = None
    metric: str | None = None
    order_by: str | None = None
    trace_id: str | None = None
    include: tuple[str, ...] = ()

    @property
    def ordering_metric(self) -> str | None:
        """Return the metric that the rows are ordered by; None for their own order."""
        return self.order_by.removeprefix("-") if self.order_by else None

    @property
    def name(self) -> str:
        """Return what a cursor of this list is bound to."""
        places = (self.config_id, self.output_id, self.example_id, self.trace_id)
        values = (*places, self.status, self.metric, self.order_by)
        return ":".join("" if value is None else str(value) for value in values)


def check_selection(plan: ExperimentPlan, wanted: OutputSelection) -> None:
    """Refuse metrics that the experiment does not have, with a pointer."""
    names = [row["name"] for row in plan.metrics]
    named_metrics = (("/metric", wanted.metric), ("/order_by", wanted.ordering_metric))
    unknown = [
        FieldError(pointer, f"No metric is named {name!r}; there are: {', '.join(names)}.")
        for pointer, name in named_metrics
        if name is not None and name not in names
    ]
    if unknown:
        raise Invalid(*unknown)


def find_outputs(account: Account, plan: ExperimentPlan, wanted: OutputSelection) -> QuerySet[Output]:
    """Return the outputs that are wanted, in no order."""
    rows = list_outputs(account=account, experiment_id=plan.pk, config_id=wanted.config_id)
    if wanted.output_id is not None:
        rows = rows.filter(pk=wanted.output_id)
    if wanted.trace_id is not None:
        rows = rows.filter(_build_trace_filter(plan, wanted.trace_id))
    if wanted.example_id is not None:
        examples = Example.objects.filter(version_id=plan.dataset_version_id, key=wanted.example_id)
        rows = rows.filter(example_id__in=examples.values("pk"))
    if wanted.status is None:
        return rows
    if wanted.status == FAILED:
        return rows.exclude(status=Output.Status.OK)
    ok_rows = rows.filter(status=Output.Status.OK)
    return _filter_by_metric(ok_rows, wanted) if wanted.metric else _filter_by_all_metrics(ok_rows, plan, wanted.status)


def _build_trace_filter(plan: ExperimentPlan, trace_id: str) -> Q:
    """Return the condition that an output, or one of its samples, was made in a trace."""
    condition = Q(trace_id=trace_id)
    return condition if plan.n_samples == 1 else condition | Q(samples__contains=[{"trace_id": trace_id}])


def _scores() -> QuerySet[Score]:
    return Score.objects.filter(config_id=OuterRef("config_id"), pos=OuterRef("pos"))


def _filter_by_metric(rows: QuerySet[Output], wanted: OutputSelection) -> QuerySet[Output]:
    scores = _scores().filter(metric=wanted.metric)
    if wanted.status == PENDING:
        return rows.exclude(Exists(scores))
    conditions = {
        OK: Q(error_code=None),
        **{code: Q(error_code=code) for code in NO_ERRORS},
        ERROR: Q(error_code__isnull=False) & ~Q(error_code__in=NO_ERRORS),
    }
    return rows.filter(Exists(scores.filter(conditions[wanted.status or OK])))


def _filter_by_all_metrics(rows: QuerySet[Output], plan: ExperimentPlan, status: str) -> QuerySet[Output]:
    errors = _scores().filter(error_code__isnull=False).exclude(error_code__in=NO_ERRORS)
    if status in NO_ERRORS:
        return rows.filter(Exists(_scores().filter(error_code=status)))
    if status == ERROR:
        return rows.filter(Exists(errors))
    counts = _scores().values("config_id").annotate(n=Count("*")).values("n")
    n_scores = Coalesce(Subquery(counts, output_field=IntegerField()), 0)
    rows = rows.alias(n_scores=n_scores)
    if status == PENDING:
        return rows.filter(n_scores__lt=len(plan.metrics))
    return rows.filter(n_scores=len(plan.metrics)).exclude(Exists(errors))


def page_of_outputs(
    account: Account, plan: ExperimentPlan, wanted: OutputSelection, *, limit: int, cursor: str | None
) -> tuple[list[dict[str, Any]], str | None]:
    """Return a page of results, newest first or by the score of a metric, and the cursor of the next page."""
    rows = find_outputs(account, plan, wanted)
    of = f"results:{account.pk}:{plan.pk}:{wanted.name}"
    if wanted.ordering_metric is None:
        outputs, following = page(rows, limit=limit, cursor=cursor, of=of)
    else:
        outputs, following = _page_by_score(rows, wanted, limit=limit, cursor=cursor, of=of)
    return rows_out(outputs, include=wanted.include, plan=plan), following


def _page_by_score(
    rows: QuerySet[Output], wanted: OutputSelection, *, limit: int, cursor: str | None, of: str
) -> tuple[list[Output], str | None]:
    rows = order_by_score(rows, wanted)
    if cursor:
        rows = rows.filter(
            _build_cursor_filter(*read_number_cursor(cursor, of=of), falling=(wanted.order_by or "").startswith("-"))
        )
    # Outputs and scores of one config are both many, and the planner takes them for few.
    with hash_joins() if wanted.config_id is not None else nullcontext():
        outputs = list(rows[: limit + 1])
    if len(outputs) <= limit:
        return outputs, None
    last: Any = outputs[limit - 1]
    return outputs[:limit], write_number_cursor(last.ordering_score, last.pk, of=of)


def order_by_score(rows: QuerySet[Output], wanted: OutputSelection) -> QuerySet[Output]:
    """Order outputs by the score of a metric; those without one come last, of two equals the newer one first."""
    value = Subquery(_scores().filter(metric=wanted.ordering_metric).values("value")[:1], output_field=FloatField())
    ordering = F("ordering_score")
    falling = (wanted.order_by or "").startswith("-")
    order = ordering.desc(nulls_last=True) if falling else ordering.asc(nulls_last=True)
    return rows.annotate(ordering_score=value).order_by(order, "-id")


def _build_cursor_filter(value: float | None, last_id: int, *, falling: bool) -> Q:
    """Return the condition that a row comes after a place in the order by score."""
    if value is None:
        return Q(ordering_score=None, id__lt=last_id)
    past = Q(ordering_score__lt=value) if falling else Q(ordering_score__gt=value)
    return past | Q(ordering_score=value, id__lt=last_id) | Q(ordering_score=None)


def iterate(account: Account, plan: ExperimentPlan, wanted: OutputSelection) -> Iterator[list[dict[str, object]]]:
    """Yield all results in pages, oldest first or by score; each page has a transaction of its own."""
    if wanted.ordering_metric is None:
        yield from _iterate_by_id(account, plan, wanted)
        return
    with account_scope(account.pk):
        ids = list(order_by_score(find_outputs(account, plan, wanted), wanted).values_list("id", flat=True))
    for start in range(0, len(ids), PAGE_ROWS):
        some = ids[start : start + PAGE_ROWS]
        with account_scope(account.pk):
            outputs = list_outputs(account=account, experiment_id=plan.pk).in_bulk(some)
            yield rows_out([outputs[id] for id in some if id in outputs], include=wanted.include, plan=plan)


def _iterate_by_id(account: Account, plan: ExperimentPlan, wanted: OutputSelection) -> Iterator[list[dict[str, Any]]]:
    last = 0
    while True:
        with account_scope(account.pk):
            page = list(find_outputs(account, plan, wanted).filter(id__gt=last).order_by("id")[:PAGE_ROWS])
            rows = rows_out(page, include=wanted.include, plan=plan)
        if not page:
            return
        last = page[-1].pk
        yield rows


def rows_out(outputs: Sequence[Output], *, plan: ExperimentPlan, include: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return outputs with what they answer and their scores; three queries, however many there are."""
    configs = {config.pk: config.name for config in Config.objects.filter(pk__in={row.config_id for row in outputs})}
    metrics = [Metric.from_json(row) for row in plan.metrics if row.get("component")]
    examples = Example.objects.in_bulk({row.example_id for row in outputs})
    scores: dict[tuple[int, int], dict[str, Any]] = {}
    score_rows = Score.objects.filter(config__in=configs, pos__in={row.pos for row in outputs})
    for score in score_rows:
        scores.setdefault((score.config_id, score.pos), {})[score.metric] = score_out(score)
    return [
        {
            "id": str(row.pk),
            "config_id": str(row.config_id),
            "config": configs[row.config_id],
            "pos": row.pos,
            **_example_out(examples.get(row.example_id), include),
            "status": row.status,
            "output": row.output,
            "isolated": row.isolated,
            "stages": row.stages,
            "samples": row.samples,
            "error_type": row.error_type,
            "error_message": row.error_message,
            "ending": row.ending or (endings.STOP if row.status == Output.Status.OK else endings.ERROR),
            "latency_ms": row.latency_ms,
            "input_tokens": row.input_tokens,
            "output_tokens": row.output_tokens,
            "cost": row.cost,
            "currency": settings.CURRENCY,
            "attempt": row.attempt,
            "trace_id": row.trace_id,
            "span_id": row.span_id,
            "reused_from": str(row.reused_from) if row.reused_from else None,
            "scores": scores.get((row.config_id, row.pos), {}),
            "by_component": group_by_component(metrics, _values(scores.get((row.config_id, row.pos), {}))),
            "created_at": row.created_at,
        }
        for row in outputs
    ]


def _values(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    return {name: score["value"] for name, score in scores.items()}


def _example_out(example: Example | None, include: Sequence[str]) -> Mapping[str, Any]:
    return {
        "example_id": example.key if example else None,
        **{name: getattr(example, name, None) for name in ("input", "expected", *include)},
    }


def score_out(score: Score) -> dict[str, object]:
    """Return one score: a value or an error, and the other results of its evaluator."""
    return {name: getattr(score, name) for name in SCORE_FACTS}
