"""The filters of POST /v1/evaluations/search as a database condition: fields, operations, `and_` and `or_`."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import or_
from typing import Any

from django.db.models import F, Func, Q, TextField, Value

from evalsvc.evaluations.search.indirect import INDIRECT, build_indirect_condition
from evalsvc.evaluations.search.pages import build_request_condition
from evalsvc.evaluations.search.tags import build_tag_condition
from evalsvc.evaluations.wire.scores import score_condition
from evalsvc.rest.basics.nearest import suggestion
from evalsvc.rest.bodies.filters import (
    NESTED,
    ORDER_LOOKUPS,
    TEXT_LOOKUPS,
    VALUES,
    FilterTree,
    find_operation,
    list_of_values,
    read_value,
)
from evalsvc.rest.bodies.scalars import read_uuid
from evalsvc.rest.problems import FieldError, Invalid

# In one statement with all values of all filters.
MAX_LOG_IDS = 10_000
MAX_TAGS = 100
# PostgreSQL walks a pattern by recursion, and fails where that gets deep.
MAX_PATTERN = 4000
ANNOTATION = "annotation:"
TAG = "tags."
REQUEST = "request__"
MEMBERS = ("field", "operation", "value", *NESTED)


@dataclass(frozen=True, slots=True)
class SearchField:
    """A searchable field: where it is (a column, or `column.key` of a JSON column), and of what kind its values are."""

    lookup: str
    kind: str

    def where(self, operator: str, value: object) -> Q:
        """Return the condition that compares the field by one of Django's lookups."""
        place = self.lookup.removeprefix(REQUEST)
        column, _, key = place.partition(".")
        if column == "score":
            return score_condition(operator, value)
        condition = _build_key_condition(column, key, operator, value) if key else Q(**{f"{column}__{operator}": value})
        return condition if place == self.lookup else build_request_condition(condition)


def _build_key_condition(column: str, key: str, operator: str, value: Any) -> Q:
    # Not a key transform, which takes a key of digits for the place in a list.
    text = Func(F(column), Value(key), function="jsonb_extract_path_text", output_field=TextField())
    lookup = TextField().get_lookup(operator)
    assert lookup is not None  # noqa: S101  every operator is one of a text column
    return Q(lookup(text, value))


FIELDS = {
    "id": SearchField("id", "id"),
    "created_at": SearchField("created_at", "time"),
    "evaluator_id": SearchField("evaluator_id", "text"),
    "evaluator_family": SearchField("family", "text"),
    "criteria": SearchField("profile_name", "text"),
    "profile_name": SearchField("profile_name", "text"),
    "criteria_id": SearchField("profile_id", "uuid"),
    "criteria_revision": SearchField("profile_revision", "id"),
    "annotation_criteria_id": SearchField("evaluator_id", "annotation"),
    "evaluation_type": SearchField("evaluation_type", "text"),
    "status": SearchField("status", "text"),
    "pass": SearchField("passed", "bool"),
    "why": SearchField("extra.undecided", "text"),
    "score": SearchField("score", "number"),
    "score_raw": SearchField("score", "number"),
    "text_output": SearchField("text_output", "text"),
    "explanation": SearchField("explanation", "text"),
    "ending": SearchField("request__extras.ending", "text"),
    "evaluated_model_input": SearchField("request__input", "text"),
    "evaluated_model_output": SearchField("request__output", "text"),
    "metric_name": SearchField("details.metric_name", "text"),
    "favorite": SearchField("favorite", "bool"),
    "feedback": SearchField("feedback", "text"),
    "app": SearchField("app", "text"),
    "project_id": SearchField("project_id", "uuid"),
    "experiment_id": SearchField("experiment_id", "id"),
    "dataset_id": SearchField("dataset_id", "text"),
    "dataset_sample_id": SearchField("request__dataset_sample_id", "text"),
    "log_id": SearchField("log_id", "text"),
    "trace_id": SearchField("trace_id", "text"),
    "span_id": SearchField("request__span_id", "text"),
    "tags": SearchField("request__tags", "tags"),
}
TEXT_OPERATIONS = {**TEXT_LOOKUPS, "like": "like", "ilike": "ilike"}
OPERATIONS = (*TEXT_OPERATIONS, "eq", "ne", *ORDER_LOOKUPS, "in")
# These kinds have no ordering.
UNORDERED = ("tags", "annotation")


def evaluation_condition(filters: Sequence[Mapping[str, object]], pointer: str = "/filters") -> Q:
    """Return the condition that combines all filters; raise Invalid with a pointer to each that cannot be parsed.

    Within the account's scope.
    """
    return FilterTree(_Leaves(), MEMBERS).all_of(filters, pointer)


def experiments_in(filters: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    """Yield the ids of experiments in filters that `evaluation_condition` has accepted."""
    for part in filters:
        if part.get("field") == "experiment_id" and part.get("operation") in (None, "eq", "in"):
            value = part.get("value")
            ids = value if isinstance(value, list) else [value]
            yield from (int(id) for id in ids if id is not None)
        for name in NESTED:
            yield from experiments_in(part.get(name) or ())


class _Leaves:
    """Reads the condition of each field of one search, and counts its tags."""

    def __init__(self) -> None:
        self._n_tags = 0

    def __call__(self, part: Mapping[str, Any], pointer: str) -> Q:
        self._count_tags(part, pointer)
        return leaf(part, pointer)

    def _count_tags(self, part: Mapping[str, Any], pointer: str) -> None:
        field, value = find_field(str(part["field"])), part.get("value")
        if field is not None and is_of_tags(field):
            self._n_tags += len(value) if isinstance(value, list) else 1
        if self._n_tags > MAX_TAGS:
            # Each can be a statement of its own before the search begins.
            raise Invalid(FieldError(f"{pointer}/value", f"At most {MAX_TAGS} values of tags in all filters together."))


def leaf(part: Mapping[str, object], pointer: str) -> Q:
    """Return the condition of one field."""
    field = find_field(str(part["field"]))
    if field is None:
        detail = f"Not searchable; known are: {', '.join(FIELDS)}, and {TAG}NAME for one tag."
        raise Invalid(FieldError(f"{pointer}/field", detail + suggestion(str(part["field"]), FIELDS)))
    operation = find_operation(part, "operation", OPERATIONS, pointer)
    value = part.get("value")
    if operation == "in":
        return build_in_condition(field, value, f"{pointer}/value")
    if value is None:
        return null_condition(field, operation, pointer)
    return comparison(field, operation, value, f"{pointer}/value")


def find_field(name: str) -> SearchField | None:
    """Return the searchable field of a name; `tags.NAME` is the text of one tag."""
    if name.startswith(TAG) and len(name) > len(TAG):
        return SearchField(f"{REQUEST}{name}", "text")
    return FIELDS.get(name)


def build_in_condition(field: SearchField, values: object, pointer: str) -> Q:
    """Compare with several values."""
    operands = [
        convert_value(field, value, f"{pointer}/{i}") for i, value in enumerate(list_of_values(values, pointer))
    ]
    if field.lookup in INDIRECT:
        return build_indirect_condition(field.lookup, operands)
    if not is_of_tags(field):
        return field.where("in", operands)
    return functools.reduce(or_, (equals(field, value) for value in operands)) if operands else Q(pk__in=[])


def null_condition(field: SearchField, operation: str, pointer: str) -> Q:
    """Compare with null, which only equality can."""
    if operation not in ("eq", "ne"):
        raise Invalid(FieldError(f"{pointer}/value", f"`{operation}` needs a value."))
    if field.kind == "annotation":
        by_people = Q(evaluation_type="annotation")
        return ~by_people if operation == "eq" else by_people
    if field.lookup == "profile_name":
        # A score made elsewhere can lack criteria; the profile name of its history is then empty.
        has_criteria = Q(profile_name__gt="")
        return has_criteria if operation == "ne" else Q(profile_name="") | Q(profile_name__isnull=True)
    return field.where("isnull", operation == "eq")


def comparison(field: SearchField, operation: str, value: object, pointer: str) -> Q:
    """Compare with one value."""
    if operation in TEXT_OPERATIONS:
        if field.kind != "text" or not isinstance(value, str):
            raise Invalid(FieldError(pointer, f"`{operation}` compares text fields with text."))
        if operation.endswith("like") and len(value) > MAX_PATTERN:
            raise Invalid(FieldError(pointer, f"A pattern has at most {MAX_PATTERN} characters."))
        if operation.endswith("like") and (len(value) - len(value.rstrip("\\"))) % 2:
            raise Invalid(FieldError(pointer, "A pattern cannot end in the escape character; write it twice."))
        return field.where(TEXT_OPERATIONS[operation], value)
    operand = convert_value(field, value, pointer)
    if operation == "ne":
        # As people mean it: a row without the field differs from every value.
        return ~same_as(field, operand) | field.where("isnull", True)
    if operation == "eq":
        return equals(field, operand)
    if field.kind in UNORDERED:
        raise Invalid(FieldError(pointer, f"`{operation}` needs a field that has an order."))
    return field.where(ORDER_LOOKUPS[operation], operand)


def equals(field: SearchField, wanted: Any) -> Q:
    """Return the condition that the field has this value; for tags, that each of these is among them."""
    if field.kind == "tags":
        return build_tag_condition(wanted)
    if field.lookup in INDIRECT:
        return build_indirect_condition(field.lookup, [wanted])
    column, _, key = field.lookup.partition(".")
    return build_tag_condition({key: wanted}) if column == f"{REQUEST}tags" else field.where("exact", wanted)


def same_as(field: SearchField, wanted: object) -> Q:
    """Return what a row that differs does not meet; never looked up by an index, as most rows differ."""
    return field.where("contains" if field.kind == "tags" else "exact", wanted)


def is_of_tags(field: SearchField) -> bool:
    """Return whether each value of the field is looked up by itself."""
    return field.lookup.startswith(f"{REQUEST}tags")


def convert_value(field: SearchField, value: object, pointer: str) -> object:
    """Read a value as the field's kind, or raise Invalid."""
    if field.kind == "annotation" and (criteria_id := read_uuid(value)) is not None:
        return f"{ANNOTATION}{criteria_id}"
    if field.kind == "tags" and _are_tags(value):
        return value
    if field.kind not in VALUES:
        raise Invalid(FieldError(pointer, f"Not a value of this field, which is of kind {field.kind}."))
    return read_value(field.kind, value, pointer)


def _are_tags(value: object) -> bool:
    if not isinstance(value, dict) or not 0 < len(value) <= MAX_TAGS:
        return False
    return all(isinstance(text, str) for text in value.values())
