"""Import of the records of a bundle, with new ids, validated against what the service itself would have written."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

import msgspec
from django.db.models import Count, F

from evalsvc.accounts.models import Account
from evalsvc.annotations.values import AnnotationValue
from evalsvc.comparisons.judges.resolver import compute_judge_digest
from evalsvc.comparisons.maintenance import recount_comparison
from evalsvc.comparisons.models import Judgement, OutputComparison
from evalsvc.comparisons.ranking import ranking_view
from evalsvc.datasets.importers.archive import refuse
from evalsvc.experiments.models import Config, ExperimentItem, ExperimentPlan, Output
from evalsvc.gates.answers import GateEvidence
from evalsvc.gates.models import Gate
from evalsvc.reports.bundles.records import kinds
from evalsvc.reports.bundles.records.kinds import RecordKind
from evalsvc.rest.problems import Invalid
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem
from evalsvc.reviews.questions import CHOICES, Question, parse_answer_value, parse_questions

ROWS_AT_ONCE = 500
NOBODY = uuid.UUID(int=0)
JUDGES = ("scores", "pairwise", "people")
WRONG = (Invalid, msgspec.MsgspecError, TypeError, ValueError, KeyError, AttributeError, IndexError)
Fields = dict[str, Any]
RecordReader = Callable[[RecordKind], Iterator[tuple[int, Any]]]


@dataclass
class RecordPlaces:
    """Where the rows of a copy are: by the numbers that the bundle calls them by."""

    account: Account
    plan: ExperimentPlan
    actor: str
    configs: Mapping[int, int]
    reviews: dict[int, Review] = field(default_factory=dict)
    questions: dict[int, list[Question]] = field(default_factory=dict)
    comparisons: dict[int, OutputComparison] = field(default_factory=dict)

    def outputs(self, wanted: Sequence[tuple[int | None, int | None]]) -> dict[tuple[int, int], int]:
        """Return the ids of outputs by config and position, without those that were deleted."""
        rows = Output.objects.filter(
            config_id__in={self.configs[config] for config, _ in wanted if config is not None},
            pos__in={pos for _, pos in wanted if pos is not None},
        )
        arrivals = {id: arrival for arrival, id in self.configs.items()}
        return {(arrivals[config], pos): id for config, pos, id in rows.values_list("config_id", "pos", "pk")}


def insert_records(*, account: Account, plan: ExperimentPlan, read: RecordReader, actor: str) -> None:
    """Insert comparisons, reviews and gates of a bundle, within its import; rankings and counts are recomputed."""
    configs = dict(Config.objects.filter(experiment_id=plan.pk).values_list("arrival", "pk"))
    places = RecordPlaces(account, plan, actor, configs)
    for kind in kinds.RECORDS:
        rows = read(kind)
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            _MAKERS[kind](places, kind, batch)
    _count_reviews(places)
    _rank_comparisons(places)


def _build_rows(kind: RecordKind, batch: Sequence[tuple[int, Any]], make: Callable[[Any], Fields]) -> list[Any]:
    """Return rows of a batch, not saved; a line that cannot be made is refused by its number."""
    instances = []
    for number, row in batch:
        try:
            values = {column.attname: getattr(row, str(column.column)) for column in kind.columns}
            instances.append(kind.model(**values, **make(row)))
        except WRONG as exc:
            raise refuse(f"{kind.file}, line {number}: {exc!r:.200}.") from None
    return instances


def _insert_reviews(places: RecordPlaces, kind: RecordKind, batch: Sequence[tuple[int, Any]]) -> None:
    def make(row: Any) -> Fields:
        criteria = [{**criterion, "id": str(uuid.uuid4())} for criterion in row.criteria]
        parse_questions(criteria)
        if (row.kind == Review.Kind.PAIR) is bool(criteria) or row.kind not in (Review.Kind.PAIR, Review.Kind.OUTPUT):
            raise ValueError("neither a review of outputs nor one of pairs")
        source = {name: {**selection, "experiment_id": places.plan.pk} for name, selection in row.source.items()}
        return {
            "account": places.account,
            "criteria": criteria,
            "source": source,
            "sample": row.sample,
            "created_by": places.actor,
        }

    for review in Review.objects.bulk_create(_build_rows(kind, batch, make)):
        number = len(places.reviews) + 1
        places.reviews[number] = review
        places.questions[number] = parse_questions(review.criteria)


def _insert_items(places: RecordPlaces, kind: RecordKind, batch: Sequence[tuple[int, Any]]) -> None:
    outputs = places.outputs([(at, row.example_pos) for _, row in batch for at in (row.config, row.other_config)])

    def make(row: Any) -> Fields:
        if row.example_pos is None:
            raise ValueError("`example_pos` is missing")
        other = row.other_config
        return {
            "account": places.account,
            "review": places.reviews[row.review],
            "config_id": places.configs[row.config],
            "other_config_id": None if other is None else places.configs[other],
            # Each item references an output; a deleted one is replaced by an id that does not exist.
            "subject_id": outputs.get((row.config, row.example_pos), -1 - row.position),
            "other_id": 0 if other is None else outputs.get((other, row.example_pos), -1 - row.position),
        }

    ReviewItem.objects.bulk_create(_build_rows(kind, batch, make))


def _insert_answers(places: RecordPlaces, kind: RecordKind, batch: Sequence[tuple[int, Any]]) -> None:
    reviews = [review for number, review in places.reviews.items() if number in {row.review for _, row in batch}]
    review_items = ReviewItem.objects.filter(review__in=reviews, position__in={row.item for _, row in batch})
    items = {(review, position): id for review, position, id in review_items.values_list("review_id", "position", "pk")}

    def make(row: Any) -> Fields:
        review, questions = places.reviews[row.review], places.questions[row.review]
        if row.slot is None or row.answered_at is None or row.slot >= review.n_answers:
            raise ValueError("not an answer that its review asks for")
        if (review.kind == Review.Kind.PAIR) is (row.outcome is None):
            raise ValueError("`outcome` is of pairs, and each pair has one")
        return {
            "account": places.account,
            "review": review,
            "item_id": items[review.pk, row.item],
            "token": NOBODY,
            "reviewer": row.reviewer,
            "said": _convert_response(questions, row.said),
            "earlier": [
                {**msgspec.to_builtins(earlier_answer), "said": _convert_response(questions, earlier_answer.said)}
                for earlier_answer in row.earlier
            ],
        }

    ReviewAnswer.objects.bulk_create(_build_rows(kind, batch, make))


def _convert_response(questions: Sequence[Question], said: Mapping[str, Any]) -> Fields:
    """Return a response keyed by the criteria of the copy. Raises ValueError if it does not match the questions."""
    if not questions:
        if set(said) != {"choice"} or said["choice"] not in CHOICES:
            raise ValueError("not a choice between two")
        return dict(said)
    if set(said) != {str(i) for i in range(len(questions))}:
        raise ValueError("not an answer to each question")
    for i, question in enumerate(questions):
        parse_answer_value(question, msgspec.to_builtins(msgspec.convert(said[str(i)], AnnotationValue)))
    return {str(question.id): said[str(i)] for i, question in enumerate(questions)}


def _insert_comparisons(places: RecordPlaces, kind: RecordKind, batch: Sequence[tuple[int, Any]]) -> None:
    def make(row: Any) -> Fields:
        if row.state == OutputComparison.State.RUNNING:
            raise ValueError("it is running, and nothing of a bundle runs")
        if len(set(row.configs)) < len(row.configs):
            raise ValueError("a config stands in it twice")
        judge = _judge(places, row.judge)
        return {
            "account": places.account,
            "experiment_id": places.plan.pk,
            "configs": [places.configs[arrival] for arrival in row.configs],
            "judge": judge,
            "judge_digest": compute_judge_digest(judge),
        }

    for (number, row), comparison in zip(batch, _build_rows(kind, batch, make), strict=True):
        comparison.previous = places.comparisons.get(row.previous)
        comparison.save(force_insert=True)
        comparison.refresh_from_db()
        places.comparisons[number] = comparison


def _judge(places: RecordPlaces, said: Mapping[str, Any]) -> Fields:
    judge = dict(said)
    if judge["kind"] not in JUDGES:
        raise ValueError("no such judge")
    if judge["kind"] == "people":
        review = places.reviews.get(judge["review"])
        judge["review"] = str(NOBODY if review is None else review.pk)
    if str(judge.get("name") or "").startswith("/"):
        judge["name"] = f"{places.plan.pk}{judge['name']}"
    return judge


def _insert_judgements(places: RecordPlaces, kind: RecordKind, batch: Sequence[tuple[int, Any]]) -> None:
    # One comparison after the other: later ones were taken over from earlier ones.
    for _, part in groupby(batch, key=lambda one: one[1].comparison):
        _insert_judged(places, kind, list(part))


def _insert_judged(places: RecordPlaces, kind: RecordKind, batch: Sequence[tuple[int, Any]]) -> None:
    rows = [row for _, row in batch]
    try:
        outputs = places.outputs([(at, row.pos) for row in rows for at in (row.first, row.second)])
        sources = _find_sources(places, rows)
    except WRONG as exc:
        raise refuse(f"{kind.file}, line {batch[0][0]} and after it: {exc!r:.200}.") from None
    items = ExperimentItem.objects.filter(experiment_id=places.plan.pk, pos__in={row.pos for row in rows})
    examples = dict(items.values_list("pos", "example_id"))

    def make(row: Any) -> Fields:
        if row.state != Judgement.State.DONE:
            raise ValueError("it is open, and nothing of a bundle is judged")
        return {
            "account": places.account,
            "comparison": places.comparisons[row.comparison],
            "example_id": examples[row.pos],
            "first_id": places.configs[row.first],
            "second_id": places.configs[row.second],
            "first_output_id": outputs.get((row.first, row.pos), 0),
            "second_output_id": outputs.get((row.second, row.pos), 0),
            # 0: of a comparison that did not come along.
            "reused_from": None if row.reused_from is None else sources.get(tuple(row.reused_from), 0),
        }

    Judgement.objects.bulk_create(_build_rows(kind, batch, make))


def _find_sources(places: RecordPlaces, rows: Sequence[Any]) -> dict[tuple[int, ...], int]:
    """Return the ids of judgements that others were taken over from, by what the bundle calls them."""
    references = [row.reused_from for row in rows if row.reused_from]
    numbers = {places.comparisons[reference[0]].pk: reference[0] for reference in references}
    arrivals = {id: arrival for arrival, id in places.configs.items()}
    judgements = Judgement.objects.filter(comparison_id__in=numbers, pos__in={reference[3] for reference in references})
    return {
        (numbers[row.comparison_id], arrivals[row.first_id], arrivals[row.second_id], row.pos): row.pk
        for row in judgements.only("comparison_id", "first_id", "second_id", "pos")
    }


def _insert_gates(places: RecordPlaces, kind: RecordKind, batch: Sequence[tuple[int, Any]]) -> None:
    def make(row: Any) -> Fields:
        ids = {"candidate": row.config, "baseline": row.baseline_config}
        evidence = {**row.evidence, **{side: _gated(places, row.evidence[side], at) for side, at in ids.items()}}
        config, baseline = (None if at is None else places.configs[at] for at in ids.values())
        return {
            "account": places.account,
            "experiment_id": places.plan.pk,
            "config_id": config,
            "baseline_experiment_id": None if baseline is None else places.plan.pk,
            "baseline_config_id": baseline,
            "evidence": msgspec.to_builtins(msgspec.convert(evidence, GateEvidence)),
            "actor": places.actor,
        }

    Gate.objects.bulk_create(_build_rows(kind, batch, make))


def _gated(places: RecordPlaces, side: Mapping[str, Any] | None, arrival: int | None) -> Fields | None:
    """Return a side of a gate with the ids of the copy; one that did not come along has none that is anybody's."""
    if side is None or arrival is None:
        return None if side is None else {**side, "experiment_id": "0", "config_id": "0", "dataset_id": ""}
    ids = {"experiment_id": str(places.plan.pk), "config_id": str(places.configs[arrival])}
    version = places.plan.dataset_version
    return {**side, **ids, "dataset_id": str(version.dataset_id), "dataset_version": version.number}


def _count_reviews(places: RecordPlaces) -> None:
    for review in places.reviews.values():
        counts = ReviewAnswer.objects.filter(review=review).values("item_id").annotate(n=Count("pk"))
        items = [ReviewItem(pk=row["item_id"], n_answered=row["n"]) for row in counts]
        ReviewItem.objects.bulk_update(items, ["n_answered"], batch_size=ROWS_AT_ONCE)
        rows = ReviewItem.objects.filter(review=review)
        Review.objects.filter(pk=review.pk).update(n_items=rows.count())
        if review.closed_at is None and rows.filter(n_answered__lt=F("review__n_answers")).exists():
            raise refuse(f"{kinds.REVIEWS.file}: {review.name[:100]!r} is open, and nobody is asked by a bundle.")


def _rank_comparisons(places: RecordPlaces) -> None:
    for number, comparison in places.comparisons.items():
        try:
            ranking = ranking_view(comparison)
            OutputComparison.objects.filter(pk=comparison.pk).update(ranking=ranking)
            comparison.refresh_from_db()
            wrong = recount_comparison(comparison)
        except WRONG as exc:
            raise refuse(f"{kinds.COMPARISONS.file}, line {number}: it cannot be ranked: {exc!r:.200}.") from None
        if wrong:
            raise refuse(f"{kinds.COMPARISONS.file}, line {number}: {wrong[0]}.")


_MAKERS: Mapping[RecordKind, Any] = {
    kinds.REVIEWS: _insert_reviews,
    kinds.REVIEW_ITEMS: _insert_items,
    kinds.ANSWERS: _insert_answers,
    kinds.COMPARISONS: _insert_comparisons,
    kinds.JUDGEMENTS: _insert_judgements,
    kinds.GATES: _insert_gates,
}
