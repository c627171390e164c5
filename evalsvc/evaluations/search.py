"""The filters of POST /v1/evaluations/search as a database condition: fields, operations, `and_` and `or_`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

from evalsvc.evaluations.call import is_bigint
from evalsvc.rest.problems import FieldError, Invalid

# A statement holds 65 535 values at most: MAX_FILTERS * MAX_VALUES, and MAX_LOG_IDS beside them.
MAX_FILTERS = 100
MAX_DEPTH = 8
MAX_VALUES = 500
MAX_LOG_IDS = 10_000


@dataclass(frozen=True, slots=True)
class SearchField:
    """A searchable field: where it is, and of what kind its values are."""

    lookup: str
    kind: str


FIELDS = {
    "id": SearchField("id", "id"),
    "created_at": SearchField("created_at", "time"),
    "evaluator_id": SearchField("evaluator_id", "text"),
    "evaluator_family": SearchField("family", "text"),
    "criteria": SearchField("profile_name", "text"),
    "profile_name": SearchField("profile_name", "text"),
    "criteria_id": SearchField("profile_id", "uuid"),
    "criteria_revision": SearchField("profile_revision", "id"),
    "evaluation_type": SearchField("evaluation_type", "text"),
    "status": SearchField("status", "text"),
    "pass": SearchField("passed", "bool"),
    "score": SearchField("score", "number"),
    "score_raw": SearchField("score", "number"),
    "text_output": SearchField("text_output", "text"),
    "explanation": SearchField("explanation", "text"),
    "app": SearchField("request__app", "text"),
    "project_id": SearchField("request__project_id", "uuid"),
    "experiment_id": SearchField("request__experiment_id", "id"),
    "dataset_id": SearchField("request__dataset_id", "text"),
    "dataset_sample_id": SearchField("request__dataset_sample_id", "text"),
    "log_id": SearchField("request__log_id", "text"),
    "trace_id": SearchField("request__trace_id", "text"),
    "span_id": SearchField("request__span_id", "text"),
}
TEXT_OPERATIONS = {"starts_with": "startswith", "ends_with": "endswith", "like": "like", "ilike": "ilike"}
ORDER_OPERATIONS = {"lt": "lt", "le": "lte", "gt": "gt", "ge": "gte"}
OPERATIONS = (*TEXT_OPERATIONS, "eq", "ne", *ORDER_OPERATIONS, "in")


def condition(filters: Sequence[Mapping[str, Any]], pointer: str = "/filters") -> Q:
    """Return the condition that all filters hold; raise Invalid with a pointer to each that cannot be read."""
    return _Builder().all_of(filters, pointer, 0)


class _Builder:
    def __init__(self) -> None:
        self._n = 0

    def all_of(self, filters: Sequence[Mapping[str, Any]], pointer: str, depth: int) -> Q:
        combined = Q()
        for i, part in enumerate(filters):
            combined &= self.one(part, f"{pointer}/{i}", depth)
        return combined

    def any_of(self, filters: Sequence[Mapping[str, Any]], pointer: str, depth: int) -> Q:
        parts = [self.one(part, f"{pointer}/{i}", depth) for i, part in enumerate(filters)]
        combined = parts[0]
        for part in parts[1:]:
            combined |= part
        return combined

    def one(self, part: Mapping[str, Any], pointer: str, depth: int) -> Q:
        self._n += 1
        if self._n > MAX_FILTERS or depth > MAX_DEPTH:
            raise Invalid(FieldError(pointer, f"At most {MAX_FILTERS} filters, {MAX_DEPTH} levels deep."))
        if not isinstance(part, Mapping):
            raise Invalid(FieldError(pointer, "A filter is an object."))
        if part.get("field") is None and not part.get("and_") and not part.get("or_"):
            # As "no condition" it would let every row through, and in an `or_` none of the others would matter.
            raise Invalid(FieldError(pointer, "Name a `field`, or nest filters in `and_` or `or_`."))
        combined = Q()
        if part.get("field") is not None:
            combined &= leaf(part, pointer)
        for name, combine in (("and_", self.all_of), ("or_", self.any_of)):
            if nested := part.get(name):
                if not isinstance(nested, list):
                    raise Invalid(FieldError(f"{pointer}/{name}", "Must be a list of filters."))
                combined &= combine(nested, f"{pointer}/{name}", depth + 1)
        return combined


def leaf(part: Mapping[str, Any], pointer: str) -> Q:
    """Return the condition of one field."""
    field = FIELDS.get(str(part["field"]))
    if field is None:
        raise Invalid(FieldError(f"{pointer}/field", f"Not searchable; known are: {', '.join(FIELDS)}."))
    operation = part.get("operation") or "eq"
    if operation not in OPERATIONS:
        raise Invalid(FieldError(f"{pointer}/operation", f"Unknown; known are: {', '.join(OPERATIONS)}."))
    value = part.get("value")
    if operation == "in":
        if not isinstance(value, list):
            raise Invalid(FieldError(f"{pointer}/value", "`in` takes a list."))
        if len(value) > MAX_VALUES:
            raise Invalid(FieldError(f"{pointer}/value", f"At most {MAX_VALUES} values."))
        return Q(
            **{f"{field.lookup}__in": [converted(field, item, f"{pointer}/value/{i}") for i, item in enumerate(value)]}
        )
    if value is None:
        return null_condition(field, str(operation), pointer)
    return comparison(field, str(operation), value, f"{pointer}/value")


def null_condition(field: SearchField, operation: str, pointer: str) -> Q:
    """Compare with null, which only equality can."""
    if operation not in ("eq", "ne"):
        raise Invalid(FieldError(f"{pointer}/value", f"`{operation}` needs a value."))
    return Q(**{f"{field.lookup}__isnull": operation == "eq"})


def comparison(field: SearchField, operation: str, value: Any, pointer: str) -> Q:
    """Compare with one value."""
    if operation in TEXT_OPERATIONS:
        if field.kind != "text" or not isinstance(value, str):
            raise Invalid(FieldError(pointer, f"`{operation}` compares text fields with text."))
        if operation.endswith("like") and (len(value) - len(value.rstrip("\\"))) % 2:
            raise Invalid(FieldError(pointer, "A pattern cannot end in the escape character; write it twice."))
        return Q(**{f"{field.lookup}__{TEXT_OPERATIONS[operation]}": value})
    wanted = converted(field, value, pointer)
    if operation == "ne":
        # As people mean it: a row without the field differs from every value.
        return ~Q(**{field.lookup: wanted}) | Q(**{f"{field.lookup}__isnull": True})
    return Q(**{field.lookup if operation == "eq" else f"{field.lookup}__{ORDER_OPERATIONS[operation]}": wanted})


def converted(field: SearchField, value: Any, pointer: str) -> Any:
    """Read a value as the field's kind, or raise Invalid."""
    match field.kind, value:
        case "text", str():
            return value
        case "bool", bool():
            return value
        case "number", bool():
            pass
        case "number", int() | float():
            return float(value)
        case "id", str() | int() if not isinstance(value, bool) and is_bigint(str(value)):
            return int(value)
        case "uuid", str() if (found := as_uuid(value)) is not None:
            return found
        case "time", str() if (moment := as_time(value)) is not None:
            return moment
    raise Invalid(FieldError(pointer, f"Not a value of this field, which is of kind {field.kind}."))


def as_uuid(text: str) -> uuid.UUID | None:
    """Read a UUID, or return None."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def as_time(text: str) -> datetime | None:
    """Read an ISO 8601 time, as UTC when it has no offset; or return None."""
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    return make_aware(moment) if moment is not None and is_naive(moment) else moment
