"""Answers as labels: one label for each item and criteria, stored with its other scores, combined from all answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.evaluations.ingest.labels import Label, keep_label
from evalsvc.rest.problems import NotFound
from evalsvc.reviews.content import load_content
from evalsvc.reviews.models import Review, ReviewAnswer, ReviewItem
from evalsvc.reviews.questions import Question, combine_values, parse_answer_value, parse_questions
from evalsvc.reviews.selectors import list_answers


def keep_labels(account: Account, review: Review, item: ReviewItem) -> None:
    """Update the labels of an item from its combined answers. Within the scope, with the review locked.

    There is one label per item and not one per person: an interval of a history is valid only if each item counts once.
    """
    if review.kind == Review.Kind.PAIR:
        return
    content = load_content(account=account, review=review, items=[item])[item.pk]
    if content.label_of is None:
        return
    answers = list(list_answers(account=account, review=review, items=[item.pk]))
    # Lock in a fixed order, so that two reviews with the same criteria cannot deadlock.
    for question in sorted(parse_questions(review.criteria), key=lambda one: one.id):
        criteria = AnnotationCriteria.everything.select_for_update().filter(account=account, pk=question.id).first()
        if criteria is None:
            continue
        try:
            keep_label(account=account, label=_label(question, criteria, answers, content.label_of, content.place))
        except NotFound:
            # The evaluation has been deleted since; its answers remain with the review.
            return


def _label(
    question: Question,
    criteria: AnnotationCriteria,
    answers: Sequence[ReviewAnswer],
    of: tuple[str, str],
    place: Mapping[str, Any] | None,
) -> Label:
    value = combine_values(
        question, [parse_answer_value(question, (row.said or {})[str(question.id)]) for row in answers]
    )
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
