"""What people would say of the scores of a history, from the answers to a review that drew them at random.

The rows are the scores of the history, in its scope, that the review drew from: one for each log. A random draw of more
is a random draw of these. A draw that leaves out some of them says nothing about those, and is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from django.db.models import BigIntegerField, Case, Count, Exists, F, Func, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.values import Value as AnswerValue
from evalsvc.evaluations.history.interval import UNWEIGHTED
from evalsvc.evaluations.history.read import filter_window, list_history
from evalsvc.evaluations.history.scope import Window
from evalsvc.evaluations.ingest.labels import has_labels
from evalsvc.evaluations.models import Evaluation, HistoryScore
from evalsvc.evaluations.wire.interval_request import first_id
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.reviews.findings import MOST_UNANSWERED
from evalsvc.reviews.models import Review, ReviewItem
from evalsvc.reviews.questions import Question, Type, combine_values, parse_answer_value, parse_questions
from evalsvc.reviews.sampling.frame import MAX_FRAME, TIMEOUT_SECONDS, read_earlier_frame
from evalsvc.reviews.selectors import list_random_draws, reviews_asking
from evalsvc.reviews.services import check_resource, find_criteria
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.truth.answer import (
    LEAST_LABELS,
    TOO_FEW,
    TruthEstimate,
    estimate_mean_of_truth,
    estimate_share_of_truth,
)
from evalsvc.stats.truth.evaluators import EvaluatorAgreement, compare_evaluators

N_REQUESTS = 10
"""What a truth interval counts towards the account's limits, by the time that it takes."""
MOST_REVIEWS, MOST_SLICES = 5, 20
TAGS = "tags."
EVALUATOR = "evaluator"
NON_RESPONSE = "non_response"
FEW_IN_COMMON = "few_in_common"
FRAME_CHANGED, SCORES_SHOWN, OLD_DRAW = "frame_changed", "scores_shown", "old_draw"
MOST_SINCE = 0.5
"""A draw is old if a larger share of the scores has come since."""
CHUNK = 10_000
READING = "Looking for the labelled scores"
SCORE_COLUMNS = ("score", "passed", "app", "revision", "created_at", "probability")
ANSWER_COLUMNS = ("answers__said", "answers__answered_at")
REMEDY = (
    'Create a review of these evaluations with `sample` {"method": "random", "n": 200} that asks this criteria, and'
    " let people answer it."
)


@dataclass(frozen=True, slots=True)
class HistoryTruth:
    """A truth interval, the draw that it rests on, and how many scores of the window have come since."""

    criteria: AnnotationCriteria
    review: Review
    estimate: TruthEstimate
    n_since: int
    share_since: float
    first_at: datetime | None
    last_at: datetime | None
    warnings: Sequence[str]
    disagreements: Sequence[DrawnScore] = ()


@dataclass(frozen=True, slots=True)
class TruthSlice:
    """What people would say of the scores that share a value; None for those without one."""

    value: str | int | None
    estimate: TruthEstimate


@dataclass(frozen=True, slots=True)
class RatedEvaluator:
    """An evaluator and profile with verdicts on labelled scores; `found` is None where it is not compared.

    `n` labels are of scores that it has decided, `n_undecided` of others.
    """

    pair: tuple[str, str]
    n: int
    n_undecided: int
    found: EvaluatorAgreement | None = None
    reason: str | None = None

    @property
    def is_best(self) -> bool:
        """Whether the others are compared with it."""
        return self.found is not None and self.found.difference is None


class DrawnScore(NamedTuple):
    """A score of a history, with the id of its evaluation."""

    id: int
    score: float
    passed: bool | None
    app: str | None
    revision: int | None
    created_at: datetime
    probability: float | None


@dataclass(frozen=True, slots=True)
class LabelledDraw:
    """The scores of a history that a review drew from, by log, and the labels of some, in the order of the draw.

    `answered` are the logs with a label in the order of their answers, `unanswered` those of items that were passed
    over. Of the `n_window` scores that the question is about, `n_since` are newer than the draw. `n_items` are the
    drawn ones that are still there.
    """

    criteria: AnnotationCriteria
    review: Review
    scores: Mapping[object, DrawnScore]
    labels: Mapping[object, bool | float]
    answered: Sequence[object]
    unanswered: Collection[object]
    n_items: int
    n_since: int
    n_window: int
    n_left_out: int
    has_changed: bool
    end: int
    """The draw is of evaluations with ids below."""
    _estimates: dict[tuple[float, float | None], HistoryTruth] = field(default_factory=dict, init=False, repr=False)

    @property
    def share_since(self) -> float:
        """The share of the scores that are newer than the draw."""
        return self.n_since / self.n_window if self.n_window else 0.0

    @property
    def is_old(self) -> bool:
        """Whether most of the scores are newer than the draw."""
        return self.share_since > MOST_SINCE

    @property
    def is_refused(self) -> bool:
        """Whether more than a tenth of the items given out were passed over, of labels that else were enough."""
        n_handed_out = len(self.answered) + len(self.unanswered)
        return len(self.labels) >= LEAST_LABELS and len(self.unanswered) > MOST_UNANSWERED * n_handed_out

    @property
    def is_unweighted(self) -> bool:
        """Whether rules drew the scores with unequal probabilities; each counts alike."""
        return len({row.probability or 1.0 for row in self.scores.values()}) > 1

    @property
    def limits(self) -> Ends | None:
        """The lowest and the highest label, where there are such."""
        return _limits(_get_question(self.review, self.criteria))

    def estimate(self, level: float, width: float | None = None) -> HistoryTruth:
        """Estimate what people would say of the scores; the same question is computed once."""
        if (level, width) not in self._estimates:
            self._estimates[level, width] = self._compute(level, width)
        return self._estimates[level, width]

    def _compute(self, level: float, width: float | None) -> HistoryTruth:
        moments = [row.created_at for row in self.scores.values()]
        reasons = {
            FRAME_CHANGED: self.has_changed,
            SCORES_SHOWN: self.review.show_scores,
            OLD_DRAW: self.is_old,
            UNWEIGHTED: self.is_unweighted,
        }
        return HistoryTruth(
            self.criteria,
            self.review,
            _estimate(self, _get_question(self.review, self.criteria), level, width),
            self.n_since,
            self.share_since,
            min(moments, default=None),
            max(moments, default=None),
            [name for name, applies in reasons.items() if applies],
            self.list_disagreements(),
        )

    def list_disagreements(self) -> list[DrawnScore]:
        """Return the decided scores with the other label, pass or fail, in the order of the draw."""
        if self.criteria.annotation_type != Type.BINARY:
            return []
        rows = [(self.scores[log], label) for log, label in self.labels.items()]
        return [row for row, label in rows if row.passed is not None and row.passed is not label]

    def slice(self, by: str) -> dict[str | int | None, LabelledDraw]:
        """Return the parts that share an `app`, a `revision` or a tag (`tags.KEY`), the largest first.

        The part of a random draw that falls into a slice is a random draw of the slice.
        """
        tags = _read_tags(self, by.removeprefix(TAGS)) if by.startswith(TAGS) else {}
        logs: dict[str | int | None, list[object]] = {}
        for log, row in self.scores.items():
            value = tags.get(row.id) if by.startswith(TAGS) else getattr(row, by)
            logs.setdefault(value, []).append(log)
        largest = sorted(logs.items(), key=lambda pair: len(pair[1]), reverse=True)
        return {value: self._narrow(set(members)) for value, members in largest}

    def _narrow(self, logs: Collection[object]) -> LabelledDraw:
        scores = {log: row for log, row in self.scores.items() if log in logs}
        labels = {log: label for log, label in self.labels.items() if log in logs}
        answered, unanswered = ([log for log in row if log in logs] for row in (self.answered, self.unanswered))
        return replace(self, scores=scores, labels=labels, answered=answered, unanswered=unanswered)


def find_labelled_draw(
    *,
    account: Account,
    pair: tuple[str, str],
    window: Window,
    criteria: str | AnnotationCriteria,
    draw: uuid.UUID | None = None,
    pointer: str = "",
) -> LabelledDraw:
    """Return the labelled draw of a history within a window.

    `criteria` are named, or those of the account. `draw` is a review; without it the newest that covers the history is
    used, those with too few labels last, unless the others are old. Raises Invalid where no random draw of these scores
    asks this criteria, with pointers below `pointer`, and Problem `search_too_slow`. Within the account's scope.
    """
    if isinstance(criteria, AnnotationCriteria):
        asked = criteria
        check_resource(asked, Review.Kind.EVALUATION, f"{pointer}/truth")
    else:
        asked = find_criteria(account, criteria, Review.Kind.EVALUATION, f"{pointer}/truth")
    if asked.annotation_type == Type.TEXT:
        raise Invalid(FieldError(f"{pointer}/truth", "Labels of this criteria are texts, which have no mean."))
    return _find_draw(account, pair, window, asked, _list_draws(account, asked, draw, pointer), pointer)


def estimate_slices(labelled: LabelledDraw, by: str, level: float) -> tuple[list[TruthSlice], int]:
    """Return what people would say of each slice, and how many slices there are; at most `MOST_SLICES`, the largest.

    The intervals hold together at the level (Bonferroni): each is at 1 - (1 - level) / m, for m slices with enough
    labels.
    """
    slices = labelled.slice(by)
    shown = dict([*slices.items()][:MOST_SLICES])
    n_intervals = sum(len(part.labels) >= LEAST_LABELS for part in shown.values())
    each = 1.0 - (1.0 - level) / max(1, n_intervals)
    return [TruthSlice(value, part.estimate(each).estimate) for value, part in shown.items()], len(slices)


def compare_draw_evaluators(
    labelled: LabelledDraw, pair: tuple[str, str], window: Window, level: float, pointer: str = ""
) -> tuple[list[RatedEvaluator], int]:
    """Return the evaluators that have decided labelled scores of a draw, and the number of labels they are compared on.

    Those labels are of logs that all of them have decided. `pair` comes first and then who has decided most; one that
    would leave less than half of the labels of `pair`, or fewer than 20, is not compared, and none is where labels are
    missing as `MOST_UNANSWERED` says. Scores are those within the window from before the draw. At most `MOST_SLICES`.
    Raises Invalid where labels or verdicts are not pass or fail. Within the account's scope.
    """
    if labelled.criteria.annotation_type != Type.BINARY:
        raise Invalid(FieldError(f"{pointer}/truth_by", "Evaluators are compared with labels that pass or fail."))
    verdicts: dict[tuple[str, str], dict[object, bool | None]] = {pair: {}}
    for name, log, passed in _read_other_verdicts(labelled, window):
        verdicts.setdefault(name, {})[log] = passed
    verdicts[pair] = {log: labelled.scores[log].passed for log in labelled.labels}
    decided = {name: {log for log, passed in row.items() if passed is not None} for name, row in verdicts.items()}
    names = sorted(verdicts, key=lambda name: (name != pair, -len(decided[name]), name))[:MOST_SLICES]
    common, compared = set(decided[pair]), list[tuple[str, str]]()
    least = max(LEAST_LABELS, len(common) / 2)
    for name in names if not labelled.is_refused else ():
        if len(shared := common & decided[name]) >= least:
            common, compared = shared, [*compared, name]
    logs = [log for log in labelled.answered if log in common]
    people = [bool(labelled.labels[log]) for log in logs]
    rows = [[bool(verdicts[name][log]) for log in logs] for name in compared]
    found = dict(zip(compared, compare_evaluators(people, rows, level=level), strict=True)) if compared else {}
    reason = NON_RESPONSE if labelled.is_refused else FEW_IN_COMMON if found else TOO_FEW
    return [
        RatedEvaluator(
            name,
            len(decided[name]),
            len(verdicts[name]) - len(decided[name]),
            found.get(name),
            None if name in found else reason,
        )
        for name in names
    ], len(logs) if compared else 0


def _read_other_verdicts(
    labelled: LabelledDraw, window: Window
) -> Iterator[tuple[tuple[str, str], object, bool | None]]:
    """Yield the verdicts on the labelled logs, by evaluator and profile, the oldest of each first.

    They are scores of histories from before the draw and within the window, but for its revision, which is of one
    profile.
    """
    logs = [log for log in labelled.labels if isinstance(log, str)]
    made_elsewhere = Case(When(evaluation_type=Evaluation.Type.CLIENT, then=True), default=False)
    score_id = Func(made_elsewhere, F("created_at"), F("id"), function="history_id", output_field=BigIntegerField())
    rows = Evaluation.objects.filter(account_id=labelled.review.account_id, captured=True, id__lt=labelled.end)
    rows = rows.exclude(evaluation_type=Evaluation.Type.ANNOTATION).annotate(score_id=score_id).order_by("score_id")
    scores = HistoryScore.objects.filter(
        account_id=labelled.review.account_id,
        evaluator_id=OuterRef("evaluator_id"),
        profile_name=Coalesce(OuterRef("profile_name"), Value("")),
        trial=False,
        id=OuterRef("score_id"),
    )
    scope = {name: value for name, value in window.items() if name != "revision"}
    rows = rows.filter(Exists(filter_window(scores, scope)))
    with in_time(TIMEOUT_SECONDS, what=READING):
        for start in range(0, len(logs), 5000):
            chunk = rows.filter(log_id__in=logs[start : start + 5000])
            for name, profile, log, passed in chunk.values_list("evaluator_id", "profile_name", "log_id", "passed"):
                yield (name, profile or ""), log, passed


def check_slicing(by: str, pointer: str) -> None:
    """Raise Invalid for a name by which scores cannot be sliced."""
    if by not in ("app", "revision", EVALUATOR) and not (by.startswith(TAGS) and len(by) > len(TAGS)):
        raise Invalid(FieldError(pointer, "Slices are by `app`, `revision`, `tags.KEY` or `evaluator`."))


def _read_tags(labelled: LabelledDraw, key: str) -> dict[int, str]:
    """Return the value of a tag by evaluation, of those that have it."""
    ids, found = sorted(row.id for row in labelled.scores.values()), dict[int, str]()
    with in_time(TIMEOUT_SECONDS, what=READING):
        for start in range(0, len(ids), 5000):
            rows = Evaluation.objects.filter(account_id=labelled.review.account_id, id__in=ids[start : start + 5000])
            pairs = rows.filter(request__tags__isnull=False).values_list("id", "request__tags")
            found |= {id: tags[key] for id, tags in pairs if tags is not None and key in tags}
    return found


def _list_draws(
    account: Account, criteria: AnnotationCriteria, draw: uuid.UUID | None, pointer: str
) -> list[tuple[Review, int]]:
    """Return the reviews that drew evaluations at random and ask this, newest first; raise Invalid without any.

    With each goes how many of its items have an answer.
    """
    if draws := list_random_draws(account=account, criteria_id=criteria.pk, id=draw, limit=MOST_REVIEWS):
        return draws
    rows = reviews_asking(account=account, criteria_id=criteria.pk, limit=1000)
    reviews = [row for row in rows if row.kind == Review.Kind.EVALUATION and draw in (None, row.pk)]
    if draw is not None and not reviews:
        raise Invalid(FieldError(f"{pointer}/truth_draw", "No review of evaluations with this id asks this criteria."))
    if reviews:
        method = reviews[0].sample["method"]
        detail = f"A draw of `{method}` items is for finding mistakes, not for estimating how many there are."
    elif has_labels(account=account, criteria_id=criteria.pk):
        detail = "The labels of this criteria are of items that people picked, which says nothing about the others."
    else:
        detail = "No review asks this criteria of evaluations that were drawn at random."
    field = "truth" if draw is None else "truth_draw"
    raise Invalid(FieldError(f"{pointer}/{field}", f"{detail} {REMEDY}"))


def _find_draw(
    account: Account,
    pair: tuple[str, str],
    window: Window,
    criteria: AnnotationCriteria,
    draws: Sequence[tuple[Review, int]],
    pointer: str,
) -> LabelledDraw:
    """Return the newest draw of all these scores that has labels enough, or else the newest; emptied ones are none.

    An old draw with labels enough comes after a newer one that is not old: labels of that would settle more. Draws with
    labels enough are read first, and the others only where the choice depends on them.
    """
    rows = list_history(account=account, evaluator_id=pair[0], profile_name=pair[1], window=window)
    history = _WindowScores(account, rows.exclude(source=HistoryScore.Source.EXPERIMENT), window.get("most"))
    is_rich = [n_begun >= LEAST_LABELS for _, n_begun in draws]
    covering, shortfalls = dict[int, LabelledDraw](), dict[int, str]()
    best: int | None = None
    for place in sorted(range(len(draws)), key=lambda place: not is_rich[place]):
        if best is not None if is_rich[place] else any(other < place for other in covering):
            continue
        labelled = _read_draw(account, draws[place][0], criteria, history)
        if labelled.n_left_out or not labelled.n_items:
            shortfalls[place] = _describe_shortfall(labelled)
            continue
        covering[place] = labelled
        if len(labelled.labels) >= LEAST_LABELS:
            if not labelled.is_old:
                return labelled
            best = place
    if not covering:
        raise Invalid(FieldError(f"{pointer}/truth", f"{shortfalls[0]} {REMEDY}"))
    newest = covering[min(covering)]
    return covering[best] if best is not None and newest.is_old else newest


def _describe_shortfall(labelled: LabelledDraw) -> str:
    n, n_all = len(labelled.scores), len(labelled.scores) + labelled.n_left_out
    if not labelled.n_left_out:
        return "Of the newest random draw no item is left among the scores of this history."
    before = f"{n:,} of the {n_all:,} scores" if n_all <= MAX_FRAME else f"at most {MAX_FRAME:,} of the scores"
    return (
        f"The newest random draw was of {before} of this history before it. Ask with a `scope` or `since` that it"
        " covers. Or:"
    )


@dataclass(frozen=True, slots=True)
class _WindowScores:
    """The scores of a history in a window, newest first; of `most` only the newest so many."""

    account: Account
    rows: QuerySet[HistoryScore]
    most: int | None

    def read(self, end: int) -> tuple[dict[object, DrawnScore], int, int]:
        """Return the newest score of each log below an id, how many scores are newer, and how many there are in all.

        Scores are the newest first, and end with more than MAX_FRAME of them. Read in chunks: of a history of a million
        scores no more is in memory than a draw can be of.
        """
        newer = self.rows.filter(source_id__gte=end)
        counts = newer.order_by().values("account").annotate(n=Count("source_id")).values("n")
        n_later: Any = Coalesce(Subquery(counts), 0) if self.most is None else Value(newer[: self.most].count())
        log = Evaluation.objects.filter(account=self.account, captured=True, id=OuterRef("source_id")).values("log_id")
        rows = self.rows.filter(source_id__lt=end).annotate(log=Subquery(log[:1]))
        part = rows.annotate(n_later=n_later)
        columns = ("id", "log", "source_id", *SCORE_COLUMNS, "n_later")
        scores, n_read, n_newer = dict[object, DrawnScore](), 0, 0
        while len(scores) <= MAX_FRAME and n_read != self.most:
            limit = CHUNK if self.most is None else min(CHUNK, self.most - n_read)
            chunk = list(part.values_list(*columns)[:limit])
            for row in chunk:
                scores.setdefault(row[1] or row[2], DrawnScore(*row[2:-1]))
            n_read += len(chunk)
            if chunk and n_read == len(chunk):
                n_newer = chunk[0][-1]
            if len(chunk) < limit:
                break
            # Counted once, with the first chunk.
            part = rows.filter(id__lt=chunk[-1][0]).annotate(n_later=Value(n_newer))
        n_all = n_newer + n_read
        return scores, n_newer, n_all if self.most is None else min(n_all, self.most)


def _read_draw(account: Account, review: Review, criteria: AnnotationCriteria, history: _WindowScores) -> LabelledDraw:
    with in_time(TIMEOUT_SECONDS, what=READING):
        items = _read_items(account, review, criteria)
    # A score that came while the review was made may have been drawn.
    end = max([first_id(review.created_at), *(item.subject_id + 1 for item in items)])
    frame = read_earlier_frame(account=account, source=review.source, before=end)
    frame_logs = set(frame.logs)
    # Again, as the frame has been read under a limit of its own.
    with in_time(TIMEOUT_SECONDS, what=READING):
        scores, n_since, n_window = history.read(end)
    covered = {log: row for log, row in scores.items() if log in frame_logs}
    items = [item for item in items if item.log in covered]
    n_begun = max((i + 1 for i, item in enumerate(items) if item.label is not None), default=0)
    labels = {item.log: item.label for item in items if item.label is not None}
    moments = {item.log: item.answered_at for item in items if item.answered_at is not None}
    return LabelledDraw(
        criteria,
        review,
        covered,
        labels,
        sorted(moments, key=lambda log: moments[log]),
        [item.log for item in items[:n_begun] if item.label is None],
        n_items=len(items),
        n_since=n_since,
        n_window=n_window,
        n_left_out=len(scores) - len(covered),
        has_changed=frame.digest != review.sample["frame_sha256"],
        end=end,
    )


class _DrawnItem(NamedTuple):
    """An item: what its evaluation counts once for, None where that is deleted, and what people say of it."""

    subject_id: int
    log: object
    label: bool | float | None = None
    answered_at: datetime | None = None


def _read_items(account: Account, review: Review, criteria: AnnotationCriteria) -> list[_DrawnItem]:
    """Return the items of a review in their order; several answers are combined as in the item's label."""
    question = _get_question(review, criteria)
    evaluations = Evaluation.objects.filter(account=account, captured=True, id=OuterRef("subject_id"))
    columns = {"evaluation": Subquery(evaluations.values("id")), "log": Subquery(evaluations.values("log_id"))}
    rows = ReviewItem.objects.filter(account=account, review=review).annotate(**columns)
    rows = rows.order_by("position", "answers__answered_at", "answers__id")
    items, answers = dict[int, _DrawnItem](), dict[int, list[tuple[AnswerValue, datetime]]]()
    # An item has a row for each of its answers, and one where it has none.
    for id, evaluation, log, said, answered_at in rows.values_list("subject_id", *columns, *ANSWER_COLUMNS):
        items[id] = _DrawnItem(id, log or evaluation)
        if said is not None:
            value = parse_answer_value(question, said[str(question.id)])
            answers.setdefault(id, []).append((value, answered_at))
    for id, given in answers.items():
        combined = combine_values(question, [value for value, _ in given])
        label = combined.passed if question.annotation_type == Type.BINARY else combined.score
        if label is not None:
            items[id] = items[id]._replace(label=label, answered_at=max(moment for _, moment in given))
    return list(items.values())


def _get_question(review: Review, criteria: AnnotationCriteria) -> Question:
    return next(question for question in parse_questions(review.criteria) if question.id == criteria.pk)


def _estimate(labelled: LabelledDraw, question: Question, level: float, width: float | None) -> TruthEstimate:
    # In the order of the answers: what is added later changes nothing of what a watched interval has seen before.
    rows = [labelled.scores[log] for log in labelled.answered]
    labels = [labelled.labels[log] for log in labelled.answered]
    scores = np.array([row.score for row in labelled.scores.values()])
    if labelled.is_refused:
        return TruthEstimate(level, len(labels), len(scores), 0, None, reason=NON_RESPONSE)
    verdicts = [row.passed for row in labelled.scores.values()]
    if question.annotation_type == Type.BINARY and any(verdict is not None for verdict in verdicts):
        counts = {verdict: verdicts.count(verdict) for verdict in (True, False, None)}
        own = [row.passed for row in rows]
        return estimate_share_of_truth([bool(label) for label in labels], own, counts, level=level, width=width)
    return estimate_mean_of_truth(
        np.array(labels, dtype=np.float64),
        np.array([row.score for row in rows]),
        scores,
        limits=_limits(question),
        level=level,
        width=width,
    )


def _limits(question: Question) -> Ends | None:
    """Return the lowest and the highest label, where there are such."""
    if question.annotation_type == Type.BINARY:
        return 0.0, 1.0
    scores = [category.score for category in question.categories if category.score is not None]
    return (min(scores), max(scores)) if scores and min(scores) < max(scores) else None
