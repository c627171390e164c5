"""A file of outputs that exist already: rows to score, and which column each field came from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from evalsvc.datasets.importers.formats.convert import ROW_FORMATS
from evalsvc.datasets.importers.limits import DEFAULT_LIMITS, Limits
from evalsvc.datasets.importers.names import FIELDS, FINISH_REASON, OUTPUT_COLUMNS, STORED_NAMES, Purpose, fold_name
from evalsvc.datasets.importers.reader import Upload, parse_upload
from evalsvc.datasets.importers.rows import ExampleRow
from evalsvc.datasets.importers.summary import ColumnUse, UploadSummary
from evalsvc.problems import FieldError, Invalid

MAX_OUTPUTS = 10_000
READ_FROM_METADATA = {*STORED_NAMES, "system_prompt", "evaluated_model_system_prompt"}
"""Columns that evaluators find in the metadata of an example."""
_read = {fold_name(name) for name in READ_FROM_METADATA}


@dataclass(frozen=True, slots=True)
class OutputRows:
    """The rows of a file, each with `id`, `input`, `output`, `finish_reason`, `expected`, `contexts` and `metadata`.

    `unknown` are columns that could be anything; a format of another tool has none.
    """

    format: str
    rows: list[dict[str, Any]]
    summary: UploadSummary
    columns: Sequence[ColumnUse]
    unused: Sequence[str]

    @property
    def unknown(self) -> Sequence[str]:
        """Return the unused columns of a table."""
        return () if self.format in ROW_FORMATS else self.unused


def parse_outputs(upload: Upload, *, kept: Collection[str] = (), limits: Limits = DEFAULT_LIMITS) -> OutputRows:
    """Read a file of outputs. Columns that are no field are left out, except those that are `kept` as metadata.

    Two files of the same examples can then be compared, whatever else they note of an output. Raises Invalid, with line
    and field, for a file that cannot be read, and for one without outputs.
    """
    parsed = parse_upload(replace(upload, purpose=Purpose.OUTPUTS), limits=limits)
    try:
        rows = list(islice(parsed.rows, MAX_OUTPUTS + 1))
    except Invalid as exc:
        if all(error.pointer.endswith("/input") for error in exc.errors):
            _check_output(parsed.summary)
        raise
    _check_output(parsed.summary)
    if len(rows) > MAX_OUTPUTS:
        raise Invalid(FieldError("/file", f"At most {MAX_OUTPUTS} outputs are scored at once: split the file."))
    others = [use for use in parsed.summary.columns if use.field == "metadata"]
    unused = [use.column for use in others if not _is_kept(use.column, kept) and use.column != "metadata"]
    known_names = {use.column for use in others} | {name for row in rows for name in row.metadata}
    if missing := [name for name in kept if name not in known_names]:
        raise Invalid(*(FieldError("/metadata", f"No column {name!r} is left for the metadata.") for name in missing))
    columns = [use for use in parsed.summary.columns if use.field != "metadata" or use.column not in unused]
    dropped = {name.strip() for name in unused} | {*OUTPUT_COLUMNS}
    has_reasons = any(use.field == FINISH_REASON for use in columns)
    if parsed.format in ROW_FORMATS:
        # Other tools note durations, costs and verdicts of an output, which no two runs share.
        dropped |= {name for row in rows for name in row.metadata if not _is_kept(name, kept)}
    built = [_build_row(row, dropped, has_reason=has_reasons) for row in rows]
    return OutputRows(parsed.format, built, parsed.summary, columns, unused)


def _is_kept(column: str, kept: Collection[str]) -> bool:
    return column in kept or fold_name(column) in _read


def list_columns(upload: Upload) -> list[str]:
    """Return the columns of a file, whatever they hold. Raises Invalid for a file that is no table."""
    nothing: dict[str, list[str]] = {field: [] for field in (*FIELDS, FINISH_REASON)}
    parsed = parse_upload(replace(upload, mapping=nothing, purpose=Purpose.OUTPUTS))
    try:
        # Rows without an input are refused, after their columns were counted.
        next(parsed.rows, None)
    except Invalid:
        if not parsed.summary.columns:
            raise
    return [use.column for use in parsed.summary.columns]


def _check_output(summary: UploadSummary) -> None:
    uses = summary.columns
    if uses and not any(use.field == "output" for use in uses):
        names = ", ".join(f"`{use.column}`" for use in uses)
        detail = f"No column is known to hold the outputs. The file has {names}: name the one that does."
        raise Invalid(FieldError("/custom_field_mapping/output", detail))


def _build_row(row: ExampleRow, dropped: Collection[str], *, has_reason: bool) -> dict[str, Any]:
    finish_reason = row.metadata.get(FINISH_REASON) if has_reason else None
    removed = {*dropped, FINISH_REASON} if has_reason else dropped
    return {
        "id": row.key,
        "input": row.input,
        "output": row.output,
        "finish_reason": finish_reason,
        "expected": row.expected,
        "contexts": row.contexts,
        "metadata": {name: value for name, value in row.metadata.items() if name not in removed},
    }
