"""The language of filters that every search reads: conditions of fields, nested in `and_` and `or_`.

A search brings what one field's condition means; nesting, limits and values of each kind are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from django.db.models import Q

from evalsvc.rest.basics.nearest import suggestion
from evalsvc.rest.bodies.scalars import read_integer, read_row_id, read_time, read_uuid
from evalsvc.rest.problems import FieldError, Invalid

# A statement can have at most 65,535 parameters.
MAX_FILTERS = 100
MAX_DEPTH = 8
MAX_VALUES = 500
NESTED = {"and_": "and_", "and": "and_", "or_": "or_", "or": "or_"}
TEXT_LOOKUPS = {"starts_with": "startswith", "ends_with": "endswith"}
ORDER_LOOKUPS = {"lt": "lt", "le": "lte", "gt": "gt", "ge": "gte"}


FilterFields: TypeAlias = Mapping[str, tuple[str, str]]
"""Maps a field's name in the API to its column and the kind of its values."""
COLUMN_LOOKUPS = {"eq": "exact", "ne": "exact", **ORDER_LOOKUPS, **TEXT_LOOKUPS, "in": "in"}
ReadLeaf: TypeAlias = Callable[[Mapping[str, object], str], Q]
"""Returns the condition of a filter that names a `field`, by its pointer; raises Invalid."""


class FilterTree:
    """Reads the filters of one search; raises Invalid with a pointer to the first that cannot be read."""

    def __init__(self, leaf: ReadLeaf, members: Collection[str]) -> None:
        self._leaf = leaf
        self._members = members
        self._n = 0

    def all_of(self, filters: object, pointer: str = "/filters", depth: int = 0) -> Q:
        """Return the condition that all filters match."""
        combined = Q()
        for condition in self._each(filters, pointer, depth):
            combined &= condition
        return combined

    def any_of(self, filters: object, pointer: str, depth: int) -> Q:
        """Return the condition that any filter matches."""
        combined = Q()
        for condition in self._each(filters, pointer, depth):
            combined |= condition
        return combined

    def _each(self, filters: object, pointer: str, depth: int) -> list[Q]:
        if not isinstance(filters, list):
            raise Invalid(FieldError(pointer, "Must be a list of filters."))
        return [self._one(part, f"{pointer}/{i}", depth) for i, part in enumerate(filters)]

    def _one(self, part: object, pointer: str, depth: int) -> Q:
        self._n += 1
        if self._n > MAX_FILTERS or depth > MAX_DEPTH:
            raise Invalid(FieldError(pointer, f"At most {MAX_FILTERS} filters, {MAX_DEPTH} levels deep."))
        if not isinstance(part, Mapping):
            raise Invalid(FieldError(pointer, "A filter is an object."))
        if part.get("field") is None and not any(part.get(name) for name in NESTED):
            # As "no condition" it would let every row through, and in an `or_` none of the others would matter.
            hint = next((suggestion(name, self._members) for name in part if name not in self._members), "")
            raise Invalid(FieldError(pointer, f"Name a `field`, or nest filters in `and_` or `or_`.{hint}"))
        combined = self._leaf(part, pointer) if part.get("field") is not None else Q()
        for name, meaning in NESTED.items():
            if nested := part.get(name):
                combine = self.all_of if meaning == "and_" else self.any_of
                combined &= combine(nested, f"{pointer}/{name}", depth + 1)
        return combined


def column_condition(fields: FilterFields, member: str, part: Mapping[str, object], pointer: str) -> Q:
    """Return the condition of a filter that compares one column; `member` names its operation. Raises Invalid."""
    field = fields.get(str(part["field"]))
    if field is None:
        message = f"Not searchable; known are: {', '.join(fields)}."
        raise Invalid(FieldError(f"{pointer}/field", message + suggestion(str(part["field"]), fields)))
    column, kind = field
    operations = [name for name in COLUMN_LOOKUPS if kind == "text" or name not in TEXT_LOOKUPS]
    operation = find_operation(part, member, operations, pointer)
    value, at = part.get("value"), f"{pointer}/value"
    if value is None and operation in ("eq", "ne"):
        return Q(**{f"{column}__isnull": operation == "eq"})
    if operation == "in":
        return Q(
            **{
                f"{column}__in": [
                    read_value(kind, item, f"{at}/{i}") for i, item in enumerate(list_of_values(value, at))
                ]
            }
        )
    condition = Q(**{f"{column}__{COLUMN_LOOKUPS[operation]}": read_value(kind, value, at)})
    # Django's negation includes rows where the column is NULL: they differ from the value, too.
    return ~condition if operation == "ne" else condition


def find_operation(part: Mapping[str, object], member: str, known: Sequence[str], pointer: str) -> str:
    """Return the operation that a filter names under `member`, `eq` where it names none; raise Invalid."""
    operation = part.get(member) or "eq"
    if not isinstance(operation, str) or operation not in known:
        hint = suggestion(str(operation), known)
        raise Invalid(FieldError(f"{pointer}/{member}", f"Unknown; known are: {', '.join(known)}.{hint}"))
    return operation


def read_value(kind: str, value: object, pointer: str) -> object:
    """Return a value as its field's kind has it; raise Invalid for one of another kind."""
    parsed = VALUES[kind](value)
    if parsed is None:
        raise Invalid(FieldError(pointer, f"Not a value of this field, which is of kind {kind}."))
    return parsed


def list_of_values(values: object, pointer: str) -> list[object]:
    """Return what `in` compares with; raise Invalid."""
    if not isinstance(values, list):
        raise Invalid(FieldError(pointer, "`in` takes a list."))
    if len(values) > MAX_VALUES:
        raise Invalid(FieldError(pointer, f"At most {MAX_VALUES} values."))
    return values


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


VALUES: dict[str, Callable[[object], object | None]] = {
    "text": _text,
    "bool": _bool,
    "number": _number,
    "integer": read_integer,
    "id": read_row_id,
    "uuid": read_uuid,
    "time": read_time,
}
"""How values of each kind are read; a resource adds kinds of its own."""
