"""Which column of an upload is which field of an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalsvc.rest.problems import FieldError, Invalid, escape

# The first that a row has is the field; the others stay in the metadata under their own names.
COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id", "key", "example_id", "question_id", "query_id", "sid"),
    "input": ("input", "task_input", "evaluated_model_input", "question", "query", "prompt"),
    "expected": (
        *("expected", "expected_output", "gold", "gold_answer", "evaluated_model_gold_answer", "answer", "reference"),
        *("ground_truth", "target", "label", "output"),
    ),
    "contexts": (
        *("contexts", "context", "retrieved_context", "retrieved_contexts", "evaluated_model_retrieved_context"),
        "task_context",
    ),
    "metadata": ("metadata",),
}
FIELD_OF = {column: field for field, columns in COLUMNS.items() for column in columns}


class Names:
    """The columns of each field, by the caller's mapping and else by custom."""

    def __init__(self, mapping: Mapping[str, str] | None = None) -> None:
        self.columns = COLUMNS | {FIELD_OF[field]: (column,) for field, column in (mapping or {}).items()}

    def take(self, record: dict[str, Any], field: str) -> tuple[str, Any]:
        """Take a field out of a record; return the column's name, and None for a field that is not there."""
        for column in self.columns[field]:
            if column in record:
                return column, record.pop(column)
        return field, None


def check_mapping(mapping: Any) -> dict[str, str]:
    """Return a custom_field_mapping (field: column), or raise Invalid."""
    pointer = "/custom_field_mapping"
    if not isinstance(mapping, dict):
        raise Invalid(FieldError(pointer, "Expected a JSON object that maps fields to columns."))
    errors = []
    for field, column in mapping.items():
        if field not in FIELD_OF:
            known = ", ".join(COLUMNS)
            errors.append(FieldError(f"{pointer}/{escape(field)}", f"{field!r} is no field; fields are {known}."))
        elif not isinstance(column, str) or not column:
            errors.append(FieldError(f"{pointer}/{escape(field)}", "Expected the name of a column."))
    if errors:
        raise Invalid(*errors[:10])
    return mapping
