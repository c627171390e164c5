"""Values of labels: the categories of a criteria, and the value of a label by the criteria's type."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.evaluations.ingest.rows import MAX_SCORE
from evalsvc.rest.bodies.located import locate_error
from evalsvc.rest.problems import FieldError, Invalid

MAX_CATEGORIES = 100
Type = AnnotationCriteria.Type
FITTING = {
    Type.BINARY: ("value_pass",),
    Type.CONTINUOUS: ("value_score",),
    Type.DISCRETE: ("value_score", "value_text"),
    Type.CATEGORICAL: ("value_text", "value_score"),
    Type.TEXT: ("value_text",),
}
RESOURCE_TYPES = ("trace", "span", "log", "evaluation", "trace_insight")
WITH_CATEGORIES = (Type.DISCRETE, Type.CATEGORICAL)
OUT_OF_RANGE = f"A score lies between -{MAX_SCORE:g} and {MAX_SCORE:g}."


class Category(msgspec.Struct, frozen=True):
    """One of the answers that a discrete or categorical criteria offers."""

    label: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    score: float | None = None


Categories = Annotated[list[Category], Meta(max_length=MAX_CATEGORIES)]


@dataclass(frozen=True, slots=True)
class AnnotationValue:
    """A person's annotation, with the field names of the API; `explanation` is accepted with every type."""

    value_pass: bool | None = None
    value_score: float | None = None
    value_text: str | None = None
    explanation: str | None = None


@dataclass(frozen=True, slots=True)
class LabelledThing:
    """The object that a label is attached to: its type (one of RESOURCE_TYPES) and its id."""

    kind: str
    reference: str


@dataclass(frozen=True, slots=True)
class Value:
    """The stored value of a label; without a score it is not part of a history."""

    score: float | None = None
    passed: bool | None = None
    text: str | None = None


def read_categories(document: object) -> list[Category]:
    """Read stored or typed categories (a list, or None for none); raises Invalid with a pointer into `/categories`."""
    try:
        return msgspec.convert(document or [], Categories)
    except msgspec.ValidationError as exc:
        error = locate_error(str(exc))
        raise Invalid(FieldError(f"/categories{error.pointer}", error.detail)) from None


def get_categories(criteria: AnnotationCriteria) -> list[Category]:
    """Return the answers that a criteria offers; none for the types that offer none."""
    return read_categories(criteria.categories)


def category_errors(kind: str, categories: Sequence[Category]) -> Iterator[FieldError]:
    """Yield the errors in the categories of a criteria of this type.

    Discrete categories are scores, perhaps with labels; categorical ones are labels, perhaps with scores.
    """
    if kind not in WITH_CATEGORIES:
        if categories:
            yield FieldError("/categories", f"Annotations of type {kind} have no categories.")
        return
    if not categories:
        yield FieldError("/categories", f"Annotations of type {kind} need at least one category.")
    needed = "score" if kind == Type.DISCRETE else "label"
    labels: set[str] = set()
    # A category without a label is identified by its score alone.
    unlabelled_scores = {category.score for category in categories if category.label is None}
    scores: set[float] = set()
    for i, category in enumerate(categories):
        where = f"/categories/{i}"
        if getattr(category, needed) is None:
            yield FieldError(f"{where}/{needed}", f"A {kind} category needs a {needed}.")
        if category.label is not None and category.label in labels:
            yield FieldError(f"{where}/label", f"The label {category.label!r} is there already.")
        if category.score is not None:
            if not _is_in_range(category.score):
                yield FieldError(f"{where}/score", OUT_OF_RANGE)
            if category.score in scores & unlabelled_scores:
                yield FieldError(
                    f"{where}/score", f"The score {category.score:g} is there already; tell them by labels."
                )
            scores.add(category.score)
        if category.label is not None:
            labels.add(category.label)


def label_value(kind: str, categories: Sequence[Category], given: AnnotationValue) -> Value:
    """Return the stored value of a label of this type.

    A binary label scores 1 or 0, a category contributes its label and score, a text label has no score. Raises Invalid
    for values that the type does not accept, and if the required one is missing.
    """
    fitting = FITTING[Type(kind)]
    given_names = [name for name in ("value_pass", "value_score", "value_text") if getattr(given, name) is not None]
    if wrong := [name for name in given_names if name not in fitting]:
        raise Invalid(*(FieldError(f"/{name}", f"Annotations of type {kind} take no `{name}`.") for name in wrong))
    if not given_names:
        needed = " or ".join(f"`{name}`" for name in fitting)
        raise Invalid(FieldError(f"/{fitting[0]}", f"Annotations of type {kind} need {needed}."))
    match kind:
        case Type.BINARY:
            return Value(score=float(bool(given.value_pass)), passed=given.value_pass)
        case Type.CONTINUOUS:
            return Value(score=_validate_score(given.value_score))
        case Type.TEXT:
            if not given.value_text:
                raise Invalid(FieldError("/value_text", "The text is empty."))
            return Value(text=given.value_text)
    category = _choose_category(categories, given)
    return Value(score=category.score, text=category.label)


def _validate_score(score: float | None) -> float | None:
    if score is not None and not _is_in_range(score):
        raise Invalid(FieldError("/value_score", OUT_OF_RANGE))
    return score


def _is_in_range(score: float) -> bool:
    return math.isfinite(score) and abs(score) <= MAX_SCORE


def _choose_category(categories: Sequence[Category], given: AnnotationValue) -> Category:
    matches = list(categories)
    if given.value_text is not None:
        matches = [category for category in matches if category.label == given.value_text]
        if not matches:
            raise Invalid(FieldError("/value_text", "No category has this label."))
    if given.value_score is not None:
        matches = [category for category in matches if category.score == given.value_score]
        if not matches:
            which = "The category with this label has another score." if given.value_text is not None else ""
            raise Invalid(FieldError("/value_score", which or "No category has this score."))
    if len(matches) > 1:
        raise Invalid(FieldError("/value_score", "Several categories have this score; send `value_text`."))
    return matches[0]
