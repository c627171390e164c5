"""The questions of a review: a snapshot of its criteria, and the answers that people give to them."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.values import AnnotationValue, Category, Value, get_categories, label_value, read_categories
from evalsvc.rest.bodies.scalars import refuse_nul
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.reviews.models import ReviewAnswer

Type = AnnotationCriteria.Type
MAX_SAID_TEXT = 20_000
FIRST, SECOND, TIE = CHOICES = tuple(ReviewAnswer.Outcome.values)
NO_MAJORITY = "no majority"
_OTHER = {FIRST: SECOND, SECOND: FIRST, TIE: TIE}


@dataclass(frozen=True, slots=True)
class Question:
    """One criteria, frozen."""

    id: uuid.UUID
    name: str
    description: str | None
    annotation_type: str
    categories: Sequence[Category]


def snapshot_criteria(criteria: AnnotationCriteria) -> dict[str, Any]:
    """Return a criteria in the form that a review stores."""
    return {
        "id": str(criteria.pk),
        "name": criteria.name,
        "description": criteria.description,
        "annotation_type": criteria.annotation_type,
        "categories": msgspec.to_builtins(get_categories(criteria)) or None,
    }


def parse_questions(criteria: Sequence[Mapping[str, Any]]) -> list[Question]:
    """Parse the stored questions of a review."""
    return [
        Question(
            uuid.UUID(entry["id"]),
            entry["name"],
            entry["description"],
            entry["annotation_type"],
            read_categories(entry["categories"]),
        )
        for entry in criteria
    ]


def other_side(choice: str, *, is_swapped: bool) -> str:
    """Return a choice between sides as one between configs, or the reverse."""
    return _OTHER[choice] if is_swapped else choice


def validate_answers(questions: Sequence[Question], given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values to store for the answers to all questions of an item; raise Invalid with pointers.

    Each question must be answered once. A criteria is identified by its id or its name.
    """
    questions_by_key = {str(review_question.id): review_question for review_question in questions} | {
        review_question.name: review_question for review_question in questions
    }
    values_by_question: dict[str, Any] = {}
    errors: list[FieldError] = []
    for i, answer in enumerate(given):
        question = questions_by_key.get(answer["criteria"])
        if question is None or str(question.id) in values_by_question:
            detail = "The review does not ask this." if question is None else "This is answered twice."
            errors.append(FieldError(f"/answers/{i}/criteria", detail))
            continue
        values = {
            name: answer[name] for name in ("value_pass", "value_score", "value_text") if answer.get(name) is not None
        }
        try:
            parse_answer_value(question, values)
        except Invalid as problem:
            errors += [FieldError(f"/answers/{i}{error.pointer}", error.detail) for error in problem.errors]
        values_by_question[str(question.id)] = values
    missing = [
        review_question.name for review_question in questions if str(review_question.id) not in values_by_question
    ]
    if missing and not errors:
        errors.append(FieldError("/answers", f"Not answered: {', '.join(missing)}."))
    if errors:
        raise Invalid(*errors)
    return values_by_question


def parse_answer_value(question: Question, said: Mapping[str, Any]) -> Value:
    """Return what one answer is worth; raise Invalid for what the question does not take."""
    if len(said.get("value_text") or "") > MAX_SAID_TEXT:
        raise Invalid(FieldError("/value_text", f"At most {MAX_SAID_TEXT:,} characters."))
    refuse_nul(said.get("value_text"), "/value_text")
    return label_value(question.annotation_type, question.categories, AnnotationValue(**said))


def combine_values(question: Question, values: Sequence[Value]) -> Value:
    """Combine several answers into one: the mean of numbers, the newest text, otherwise the most frequent answer.

    On a tie for the most frequent answer, the label is without a score and has the text `no majority`.
    """
    if question.annotation_type == Type.CONTINUOUS:
        scores = [value.score for value in values if value.score is not None]
        return Value(score=sum(scores) / len(scores))
    if question.annotation_type == Type.TEXT:
        return values[-1]
    (most, n), *others = Counter(values).most_common()
    if others and others[0][1] == n:
        return Value(text=NO_MAJORITY)
    return most


def category_name(value: Value) -> str:
    """Return the name of an answer, where answers are counted by name."""
    if value.passed is not None:
        return "pass" if value.passed else "fail"
    return value.text if value.text is not None else f"{value.score:g}"
