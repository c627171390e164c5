"""Write records: each row with names in place of ids, people as `reviewer 1`, `reviewer 2`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from evalsvc.comparisons.models import Judgement, OutputComparison
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.gates.models import Gate
from evalsvc.reports.bundles.manifest import LeftOut
from evalsvc.reports.bundles.records import kinds
from evalsvc.reports.bundles.records.kinds import RecordKind
from evalsvc.rest.answering.renderers import dumps
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem

ROWS_AT_ONCE = 1000
Row = dict[str, Any]


@dataclass(frozen=True)
class RecordNames:
    """What the rows of one experiment are called in its bundle."""

    plan: ExperimentPlan
    arrivals: Mapping[int, int]
    config_names: Mapping[int, str]
    comparisons: Mapping[int, int]
    reviews: Mapping[Any, int]
    people: dict[str, str] = field(default_factory=dict)

    def person(self, name: str) -> str:
        """Return the pseudonym of a reviewer, the same in the whole bundle."""
        return self.people.setdefault(name, f"reviewer {len(self.people) + 1}")


def names_of_records(plan: ExperimentPlan) -> RecordNames:
    """Number what goes along: comparisons and reviews that have ended."""
    configs = list(Config.objects.filter(experiment_id=plan.pk))
    return RecordNames(
        plan,
        {config.pk: config.arrival for config in configs},
        {config.pk: config.name for config in configs},
        {id: i for i, id in enumerate(_ended_comparisons(plan).values_list("pk", flat=True), 1)},
        {id: i for i, id in enumerate(_ended_reviews(plan).values_list("pk", flat=True), 1)},
    )


def _ended_comparisons(plan: ExperimentPlan) -> QuerySet[OutputComparison]:
    rows = OutputComparison.objects.filter(account_id=plan.account_id, experiment_id=plan.pk)
    return rows.exclude(state=OutputComparison.State.RUNNING).order_by("pk")


def _reviews(plan: ExperimentPlan) -> QuerySet[Review]:
    of_plan = Q(source__pairs__experiment_id=plan.pk) | Q(source__outputs__experiment_id=plan.pk)
    return Review.objects.filter(of_plan, account_id=plan.account_id)


def _ended_reviews(plan: ExperimentPlan) -> QuerySet[Review]:
    """Those that are closed, and those in which nothing is left to answer."""
    unanswered = ReviewItem.objects.filter(review=OuterRef("pk"), n_answered__lt=OuterRef("n_answers"))
    return _reviews(plan).filter(~Q(closed_at=None) | ~Exists(unanswered)).order_by("created_at", "pk")


def list_omissions(names: RecordNames) -> list[LeftOut]:
    """Return what about an experiment is not in its bundle, and why."""
    plan, account = names.plan, names.plan.account_id
    comparisons = OutputComparison.objects.filter(account_id=account, experiment_id=plan.pk)
    gates = Gate.objects.filter(account_id=account, baseline_experiment_id=plan.pk).exclude(experiment_id=plan.pk)
    answers = ReviewAnswer.objects.filter(review__in=list(names.reviews), said__isnull=False)
    previous = comparisons.filter(pk__in=list(names.comparisons), previous__isnull=False)
    omissions = [
        ("comparisons", comparisons.count() - len(names.comparisons), "They are still being judged."),
        ("reviews", _reviews(plan).count() - len(names.reviews), "They are still open."),
        ("names of people", answers.values("reviewer").distinct().count(), "Everybody is called by a number."),
        ("labels", _reviews(plan).filter(kind="output").count(), "They are in a history; their answers are here."),
        ("gates", gates.count(), "Their candidate is a config of another experiment."),
        (
            "previous comparisons",
            previous.exclude(previous_id__in=list(names.comparisons)).count(),
            "Judgements were taken over from them, and are here.",
        ),
    ]
    return [LeftOut(what=what, n=n, why=why) for what, n, why in omissions if n]


def record_lines(kind: RecordKind, names: RecordNames) -> Iterator[bytes]:
    """Yield the lines of a file of records, some at a time."""
    rows = _ROWS[kind](names).iterator(ROWS_AT_ONCE)
    while batch := [row for row, _ in zip(rows, range(ROWS_AT_ONCE), strict=False)]:
        extras = _BUILDERS[kind](names, batch)
        yield b"".join(dumps(kind.get_values(row) | extra) + b"\n" for row, extra in zip(batch, extras, strict=True))


def _judgements(names: RecordNames) -> QuerySet[Judgement]:
    rows = Judgement.objects.filter(comparison_id__in=list(names.comparisons))
    return rows.order_by("comparison_id", "first_id", "second_id", "pos")


def _items(names: RecordNames) -> QuerySet[ReviewItem]:
    rows = ReviewItem.objects.filter(review_id__in=list(names.reviews))
    return rows.order_by("review__created_at", "review_id", "position")


def _answers(names: RecordNames) -> QuerySet[ReviewAnswer]:
    rows = ReviewAnswer.objects.filter(review_id__in=list(names.reviews), said__isnull=False)
    return rows.select_related("item").order_by("review__created_at", "review_id", "item__position", "slot")


def _gates(names: RecordNames) -> QuerySet[Gate]:
    return Gate.objects.filter(account_id=names.plan.account_id, experiment_id=names.plan.pk).order_by("pk")


def _build_comparisons(names: RecordNames, rows: Sequence[OutputComparison]) -> list[Row]:
    return [
        {
            "configs": [names.arrivals[id] for id in row.configs],
            "judge": _judge(names, row.judge),
            "previous": names.comparisons.get(row.previous_id or 0),
        }
        for row in rows
    ]


def _judge(names: RecordNames, judge: Mapping[str, Any]) -> Row:
    exported = dict(judge)
    if "review" in exported:
        exported["review"] = next((i for id, i in names.reviews.items() if str(id) == judge["review"]), None)
    if exported.get("name"):
        # The names of the caller's own numbers start with the id of the experiment.
        exported["name"] = str(exported["name"]).removeprefix(str(names.plan.pk))
    if "asks" in exported:
        # The address of a connection is confidential.
        exported["asks"] = ["", *judge["asks"][1:]]
    return exported


def _build_judgements(names: RecordNames, rows: Sequence[Judgement]) -> list[Row]:
    ids = [row.reused_from for row in rows if row.reused_from]
    sources = {row.pk: row for row in Judgement.objects.filter(pk__in=ids, comparison_id__in=list(names.comparisons))}

    def place(row: Judgement) -> list[int]:
        return [names.comparisons[row.comparison_id], *(names.arrivals[id] for id in (row.first_id, row.second_id))]

    exported = []
    for row in rows:
        comparison, first, second = place(row)
        source = sources.get(row.reused_from or 0)
        reused = [] if source is None else [*place(source), source.pos]
        exported.append(
            {
                "comparison": comparison,
                "first": first,
                "second": second,
                "reused_from": None if row.reused_from is None else reused,
            }
        )
    return exported


def _build_reviews(names: RecordNames, rows: Sequence[Review]) -> list[Row]:
    return [
        {
            "criteria": [{**criterion, "id": None} for criterion in row.criteria],
            "source": {kind: _source(names, selection) for kind, selection in row.source.items()},
            "sample": row.sample,
        }
        for row in rows
    ]


def _source(names: RecordNames, asked: Mapping[str, Any]) -> Row:
    ids = {str(id): name for id, name in names.config_names.items()}
    configs = asked.get("configs")
    overrides = {"experiment_id": None}
    return {
        **asked,
        **overrides,
        **({"configs": [ids.get(str(config), config) for config in configs]} if configs else {}),
    }


def _build_items(names: RecordNames, rows: Sequence[ReviewItem]) -> list[Row]:
    return [
        {
            "review": names.reviews[row.review_id],
            "config": names.arrivals[row.config_id or 0],
            "other_config": names.arrivals[row.other_config_id] if row.other_config_id else None,
        }
        for row in rows
    ]


def _build_answers(names: RecordNames, rows: Sequence[ReviewAnswer]) -> list[Row]:
    reviews = {row.pk: row for row in Review.objects.filter(pk__in={row.review_id for row in rows})}
    exported = []
    for row in rows:
        numbers = {str(criterion["id"]): str(i) for i, criterion in enumerate(reviews[row.review_id].criteria)}
        exported.append(
            {
                "review": names.reviews[row.review_id],
                "item": row.item.position,
                "reviewer": names.person(row.reviewer),
                "said": _renamed(row.said or {}, numbers),
                "earlier": [
                    {**earlier_answer, "said": _renamed(earlier_answer["said"], numbers)}
                    for earlier_answer in row.earlier
                ],
            }
        )
    return exported


def _renamed(said: Mapping[str, Any], numbers: Mapping[str, str]) -> Row:
    return {numbers.get(name, name): value for name, value in said.items()}


def _build_gates(names: RecordNames, rows: Sequence[Gate]) -> list[Row]:
    return [
        {
            "config": names.arrivals.get(row.config_id or 0),
            "baseline_config": names.arrivals.get(row.baseline_config_id or 0),
            "evidence": {
                **row.evidence,
                **{side: _gated(names, row.evidence[side]) for side in ("candidate", "baseline")},
            },
        }
        for row in rows
    ]


def _gated(names: RecordNames, side: Mapping[str, Any] | None) -> Row | None:
    if side is None:
        return None
    # What is here gets its ids from the copy; what is not has none.
    blank_ids = {"experiment_id": "", "config_id": "", "dataset_id": ""}
    return {**side, **blank_ids, **({"dataset_version": 0} if _is_own(names, side) else {})}


def _is_own(names: RecordNames, side: Mapping[str, Any]) -> bool:
    return str(side["experiment_id"]) in ("", str(names.plan.pk))


_ROWS: Mapping[RecordKind, Any] = {
    kinds.COMPARISONS: lambda names: _ended_comparisons(names.plan),
    kinds.JUDGEMENTS: _judgements,
    kinds.REVIEWS: lambda names: _ended_reviews(names.plan),
    kinds.REVIEW_ITEMS: _items,
    kinds.ANSWERS: _answers,
    kinds.GATES: _gates,
}
_BUILDERS: Mapping[RecordKind, Any] = {
    kinds.COMPARISONS: _build_comparisons,
    kinds.JUDGEMENTS: _build_judgements,
    kinds.REVIEWS: _build_reviews,
    kinds.REVIEW_ITEMS: _build_items,
    kinds.ANSWERS: _build_answers,
    kinds.GATES: _build_gates,
}
