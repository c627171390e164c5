"""What the formats share: a record taken apart, and put together again with the columns of an example."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from evalsvc.datasets.importers.json_text import decode_json
from evalsvc.datasets.importers.lines import Record
from evalsvc.datasets.importers.locations import Refusals, SourceLocation

COLUMNS = ("evaluated_model_output", "gold_contexts", "finish_reason")
MAX_LITERAL_CHARS = 100_000
_array = re.compile(r"\barray\((\[[^\[\]]*\])(?:,\s*dtype=[\w'<>]+)?\)")
Convert = Callable[[SourceLocation, Record, Refusals], Record | None]


@dataclass(frozen=True, slots=True)
class DocumentShape:
    """A file that is one JSON document: the path of its rows, and a regular expression for how it begins."""

    items: str
    beginning: bytes


@dataclass(frozen=True, slots=True)
class RowFormat:
    """A published shape of rows.

    `accepts` is asked of each row, `detects` of the first one where the caller named no format. `convert` returns the
    row with the columns of an example, or None after adding its errors.
    """

    name: str
    title: str
    accepts: Callable[[Record], bool]
    convert: Convert
    detects: Callable[[Record], bool] | None = None
    documents: tuple[DocumentShape, ...] = ()

    def is_shape_of(self, record: Record) -> bool:
        """Return whether a first row has this shape."""
        return (self.detects or self.accepts)(record)


def rebuild(
    record: Record, used: Iterable[str], fields: Mapping[str, object], metadata: Mapping[str, object] | None = None
) -> Record:
    """Return the record without the `used` columns, with fields of an example, and with more metadata.

    An output and gold contexts among the metadata stay columns, so that a summary counts them.
    """
    taken = set(used)
    rebuilt = {name: value for name, value in record.items() if name not in taken}
    rebuilt |= {name: value for name, value in fields.items() if value is not None}
    more = {name: value for name, value in (metadata or {}).items() if value is not None}
    rebuilt |= {name: more.pop(name) for name in COLUMNS if name in more}
    given = rebuilt.get("metadata")
    if more and (given is None or isinstance(given, dict)):
        rebuilt["metadata"] = more | (given or {})
    return rebuilt


def list_distinct(values: Iterable[object]) -> list[str]:
    """Return texts once each, in order, without empty ones and what is no text."""
    return list(dict.fromkeys(value for value in values if isinstance(value, str) and value))


def read_list(value: object) -> list[Any]:
    """Return a list as it is, and no items for anything else."""
    return value if isinstance(value, list) else []


def read_object(value: object) -> Record:
    """Return an object as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def is_text_list(value: object) -> TypeGuard[list[str]]:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def list_rows(value: object) -> list[Record]:
    """Return a list of objects; an object of lists of one length, as data hubs store them, is one too."""
    if isinstance(value, dict):
        columns = {name: column for name, column in value.items() if isinstance(column, list)}
        length = min(map(len, columns.values()), default=0)
        return [{name: column[i] for name, column in columns.items()} for i in range(length)]
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def decode_cells(record: Record) -> Record:
    """Return the record of a table with lists and objects in place of cells that hold them as text.

    The text is JSON, or what Python or NumPy print, which is what pandas saves.
    """
    return {name: decode_cell(cell) for name, cell in record.items()}


def decode_cell(cell: object) -> object:
    """Return a list or an object that a text cell holds; any other cell unchanged."""
    if not isinstance(cell, str) or not cell.startswith(("[", "{")) or not cell.rstrip().endswith(("]", "}")):
        return cell
    try:
        return decode_json(cell)
    except ValueError:
        pass
    if len(cell) > MAX_LITERAL_CHARS:
        return cell
    try:
        value: object = ast.literal_eval(_array.sub(r"\1", cell))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return cell
    return value if isinstance(value, list | dict) else cell
