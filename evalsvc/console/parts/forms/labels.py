"""Labels in forms: the options of a criteria, and the parsing of a submitted form."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.services import CriteriaFields, create_criteria
from evalsvc.annotations.values import AnnotationValue, Category, get_categories
from evalsvc.rest.problems import FieldError, Invalid, Problem

Type = AnnotationCriteria.Type
FIRST_QUESTION = "Is the answer right?"
PASS_OR_FAIL = (("pass", "Pass"), ("fail", "Fail"))


def make_first_question(*, account: Account, project_id: uuid.UUID, actor: str) -> AnnotationCriteria:
    """Make the question that is answered by pass or fail, of answers and evaluations, where an account has none yet."""
    fields = CriteriaFields(FIRST_QUESTION, Type.BINARY, resource_types=("log", "evaluation"))
    return create_criteria(account=account, project_id=project_id, fields=fields, actor=actor)


def label_options(criteria: AnnotationCriteria) -> list[tuple[str, str]]:
    """Return what can be chosen, as (value, words); nothing where a number or a text is written."""
    if criteria.annotation_type == Type.BINARY:
        return list(PASS_OR_FAIL)
    return [(_get_value(category), _get_words(category)) for category in get_categories(criteria)]


def _get_value(category: Category) -> str:
    # Not the position in the list: the list can be reordered while the page is open.
    return json.dumps([category.label, category.score], ensure_ascii=False)


def _get_words(category: Category) -> str:
    return category.label if category.label is not None else f"{category.score:g}"


def read_label(criteria: AnnotationCriteria, sent: Mapping[str, str]) -> AnnotationValue:
    """Read the value and the explanation of a submitted label.

    Raises Invalid for a missing value, and Problem `changed_meanwhile` for an answer that the criteria no longer
    offers.
    """
    value, why = sent.get("value", "").strip(), sent.get("explanation", "").strip() or None
    match criteria.annotation_type:
        case Type.BINARY:
            if value not in dict(PASS_OR_FAIL):
                raise Invalid(FieldError("/value", "Choose pass or fail."))
            return AnnotationValue(value_pass=value == "pass", explanation=why)
        case Type.CONTINUOUS:
            return AnnotationValue(value_score=_number(value), explanation=why)
        case Type.TEXT:
            return AnnotationValue(value_text=value, explanation=why)
    category = _find_category(criteria, value)
    return AnnotationValue(value_score=category.score, value_text=category.label, explanation=why)


def _find_category(criteria: AnnotationCriteria, value: str) -> Category:
    if not value:
        raise Invalid(FieldError("/value", "Choose one of the answers."))
    for category in get_categories(criteria):
        if _get_value(category) == value:
            return category
    detail = f"{criteria.name} no longer offers this answer. Nothing was saved: choose one of the current ones."
    raise Problem(detail, code="changed_meanwhile")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Invalid(FieldError("/value", "Enter a number.")) from None
