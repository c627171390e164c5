"""Answers as labels: one for each thing and criteria, beside its other scores, of what people say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.evaluations.ingest.labels import Label, keep_label
from evalsvc.rest.problems import NotFound
from evalsvc.reviews.content import content_of
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem
from evalsvc.reviews.questions import Question, questions_of, together, value_of
from evalsvc.reviews.selectors import list_answers


def keep_labels(account: Account, review: Review, item: ReviewItem) -> None:
    """Let the labels of an item say what its answers say together. Within the scope, holding the review.

    One label and not one for each person: in a history each thing counts once, so that an interval of it holds.
    """
    if review.kind == Review.Kind.PAIR:
        return
    content = content_of(account=account, review=review, items=[item])[item.pk]
    if content.label_of is None:
        return
    answers = list(list_answers(account=account, review=review, items=[item.pk]))
    # In one order for all, so that two reviews that ask the same do not wait for each other in a circle.
    for question in sorted(questions_of(review.criteria), key=lambda one: one.id):
        criteria = AnnotationCriteria.everything.select_for_update().filter(account=account, pk=question.id).first()
        if criteria is None:
            continue
        try:
            keep_label(account=account, label=_label(question, criteria, answers, content.label_of, content.place))
        except NotFound:
            # The evaluation has been deleted since; what was said about it stays with the review.
            return


def _label(
    question: Question,
    criteria: AnnotationCriteria,
    answers: Sequence[ReviewAnswer],
    of: tuple[str, str],
    place: Mapping[str, Any] | None,
) -> Label:
    value = together(question, [value_of(question, (row.said or {})[str(question.id)]) for row in answers])
    kind, reference = of
    return Label(
        criteria_id=question.id,
        name=criteria.name,
        description=criteria.description,
        project_id=criteria.project_id,
        resource_type=kind,
        reference=reference,
        score=value.score,
        passed=value.passed,
        text=value.text,
        explanation="\n".join(row.explanation for row in answers if row.explanation) or None,
        place=place,
    )
