"""Which column of an upload is which field of an example."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalsvc.datasets.importers.json_text import encode_text
from evalsvc.problems import FieldError, Invalid, escape

# The first that a row has is the field; the others stay in the metadata under their own names.
COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id", "key", "example_id", "question_id", "query_id", "sid"),
    "input": ("input", "task_input", "evaluated_model_input", "question", "query", "prompt"),
    "expected": (
        *("expected", "expected_output", "gold", "gold_answer", "evaluated_model_gold_answer", "answer", "reference"),
        *("ground_truth", "target", "label", "output", "gold_answers", "golds", "answers", "references"),
    ),
    "contexts": (
        *("contexts", "context", "retrieved_context", "retrieved_contexts", "evaluated_model_retrieved_context"),
        "task_context",
    ),
    "metadata": ("metadata",),
}
# Stored in the metadata under these names, which evaluators read.
PASSAGE_COLUMNS = (
    *("gold_contexts", "gold_context", "evaluated_model_gold_context"),
    *("top_k_contexts", "top_k_context", "evaluated_model_top_k_context"),
)
FIELD_OF = {column: field for field, columns in COLUMNS.items() for column in columns}


# Further fields that Patronus clients can map; they are stored in the metadata under these names.
PATRONUS_NAMES = {
    *("task_output", "evaluated_model_output", "system_prompt", "evaluated_model_system_prompt"),
    *PASSAGE_COLUMNS,
    *("meta_evaluated_model_name", "meta_evaluated_model_provider", "meta_evaluated_model_selected_model"),
    "meta_evaluated_model_params",
}


class Names:
    """The columns of each field, by the caller's mapping and else by custom. Several mapped columns are joined."""

    def __init__(self, mapping: Mapping[str, Sequence[str]] | None = None) -> None:
        self.mapped = {FIELD_OF.get(name, name): tuple(columns) for name, columns in (mapping or {}).items()}
        self.columns = COLUMNS | {name: columns for name, columns in self.mapped.items() if name in COLUMNS}
        self.extra = {name: columns for name, columns in self.mapped.items() if name not in COLUMNS}

    def take(self, record: dict[str, Any], field: str) -> tuple[str, Any]:
        """Take a field out of a record; return the column's name, and None for a field that is not there."""
        if len(columns := self.mapped.get(field, ())) > 1:
            return columns[0], join_columns(record, columns, as_list=field == "contexts")
        for column in self.columns[field]:
            if column in record:
                return column, record.pop(column)
        return field, None

    def rename(self, record: dict[str, Any]) -> None:
        """Give the rest of a record the names that the mapping has for it."""
        for name, columns in self.extra.items():
            if (value := join_columns(record, columns)) is not None:
                record[name] = value

    def has_any(self, columns: Iterable[str]) -> bool:
        """Return whether one of these columns is a field."""
        all_columns = {column for names in self.columns.values() for column in names}
        return not all_columns.isdisjoint(columns)


def join_columns(record: dict[str, Any], columns: Sequence[str], *, as_list: bool = False) -> object:
    """Take columns out of a record as one value: lists one after another, texts as lines; None where none is there."""
    values = [value for column in columns if (value := record.pop(column, None)) is not None]
    if len(values) < 2:
        return values[0] if values else None
    if as_list or any(isinstance(value, list) for value in values):
        return [item for value in values for item in (value if isinstance(value, list) else [value])]
    return "\n".join(value if isinstance(value, str) else encode_text(value) for value in values)


def check_mapping(mapping: object) -> dict[str, list[str]]:
    """Return a custom_field_mapping (field: columns), or raise Invalid."""
    pointer = "/custom_field_mapping"
    if not isinstance(mapping, dict):
        raise Invalid(FieldError(pointer, "Expected a JSON object that maps fields to columns."))
    errors = []
    mapped = {}
    for field, column in mapping.items():
        columns = [column] if isinstance(column, str) else column
        if field not in FIELD_OF and field not in PATRONUS_NAMES:
            known_columns = ", ".join(COLUMNS)
            errors.append(
                FieldError(f"{pointer}/{escape(field)}", f"{field!r} is no field; fields are {known_columns}.")
            )
        elif not isinstance(columns, list) or not columns or not all(isinstance(c, str) and c for c in columns):
            errors.append(
                FieldError(f"{pointer}/{escape(field)}", "Expected the name of a column, or a list of names.")
            )
        mapped[field] = columns
    if errors:
        raise Invalid(*errors[:10])
    return mapped
