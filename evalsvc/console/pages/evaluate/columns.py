"""The columns of a file: what each is read as, and what the visitor has chosen instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evalsvc.console.parts.forms.fields import FormField
from evalsvc.datasets.importers.outputs import OutputRows, list_columns, parse_outputs
from evalsvc.datasets.importers.reader import Upload
from evalsvc.datasets.importers.summary import ColumnUse
from evalsvc.datasets.limits import get_upload_limits
from evalsvc.rest.problems import FieldError, Invalid

LABELS = {
    "id": ("Id", "Without ids, rows are numbered. Files with the same ids and questions can be compared."),
    "input": ("Input", "The input of your application."),
    "output": ("Output", "Its output."),
    "expected": ("Expected", "The expected answer."),
    "contexts": ("Contexts", "The retrieved passages."),
    "finish_reason": ("Finish reason", "Why the model stopped. A cut or refused output gets the worst score."),
}
POINTER = "/custom_field_mapping/"
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """What the columns of a file are read as; without rows where they cannot be read so."""

    columns: Sequence[str]
    mapping: Mapping[str, str]
    rows: OutputRows | None = None
    errors: Sequence[FieldError] = ()

    @property
    def unused(self) -> list[str]:
        """Return the columns that are no field."""
        return [column for column in self.columns if column not in self.mapping.values()]

    def build_fields(self) -> list[FormField]:
        """Return a field for each that a column can be: with the number of rows that have one, and what is wrong."""
        errors = {error.pointer.removeprefix(POINTER): error.detail for error in reversed(self.errors)}
        options = [("", "none"), *((column, _shorten(column)) for column in self.columns)]
        return [
            FormField(
                f"map-{name}",
                label,
                "select",
                value=self.mapping.get(name, ""),
                options=options,
                help=self._count_rows(name) or help,
                error=errors.get(name, ""),
            )
            for name, (label, help) in LABELS.items()
        ]

    def list_other_errors(self) -> list[FieldError]:
        """Return what is wrong, but with no field."""
        return [error for error in self.errors if error.pointer.removeprefix(POINTER) not in LABELS]

    def _count_rows(self, name: str) -> str:
        if self.rows is None or name not in self.mapping:
            return ""
        n_rows = len(self.rows.rows)
        n = sum(use.n_rows for use in self.rows.columns if use.field == name)
        return f"{n} of {n_rows} rows have one."


def read_columns(upload: Upload, sent: Mapping[str, str], kept: Sequence[str]) -> ColumnChoice:
    """Read a file by the mapping of the form, else by the names of its columns. Raises Invalid for what is no table."""
    mapping = {field: column for field in LABELS if (column := sent.get(f"map-{field}", ""))}
    kept = [column for column in kept if column not in mapping.values()]
    found = _read(upload, kept)
    # A format that is found by its rows has other columns than the file: only a changed mapping is applied.
    is_unchanged = mapping == found.mapping or not any(name.startswith("map-") for name in sent)
    return found if is_unchanged else _read(upload, kept, mapping)


def _read(upload: Upload, kept: Sequence[str], mapping: Mapping[str, str] | None = None) -> ColumnChoice:
    given = {} if mapping is None else {field: [mapping[field]] if field in mapping else [] for field in LABELS}
    try:
        if errors := _find_repeated(mapping or {}):
            raise Invalid(*errors)
        rows = parse_outputs(replace(upload, mapping=given), kept=kept, limits=get_upload_limits())
    except Invalid as problem:
        columns = list_columns(upload)
        return ColumnChoice(columns, mapping or {}, errors=problem.errors)
    columns = list(dict.fromkeys(use.column for use in rows.summary.columns))
    return ColumnChoice(columns, _get_mapping(rows.columns), rows)


def _find_repeated(mapping: Mapping[str, str]) -> list[FieldError]:
    columns = list(mapping.values())
    return [
        FieldError(f"{POINTER}{field}", f"`{column}` is already used for another field. Choose another one.")
        for i, (field, column) in enumerate(mapping.items())
        if column in columns[:i]
    ]


def _get_mapping(uses: Sequence[ColumnUse]) -> dict[str, str]:
    mapping: dict[str, str] = {}
    for use in uses:
        if use.field in LABELS:
            mapping.setdefault(use.field, use.column)
    return mapping


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"
