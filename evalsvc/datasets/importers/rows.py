"""Turn records of any file format into rows that can be stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from evalsvc.datasets.importers.json_text import decode_json, encode_canonical
from evalsvc.datasets.importers.limits import DEFAULT_LIMITS, MAX_KEY, Limits
from evalsvc.datasets.importers.lines import MAX_ROW_BYTES, Record
from evalsvc.datasets.importers.locations import Refusals, SourceLocation
from evalsvc.datasets.importers.names import PASSAGE_COLUMNS, Names
from evalsvc.documents import find_unstorable, might_be_unstorable
from evalsvc.problems import FieldError, Invalid

# The keys of a passage object: first those for its text, then those for its id.
PASSAGE_NAMES = (("text", "content"), ("id", "document_id", "doc_id", "_id"))
OUTPUT_COLUMNS = ("evaluated_model_output", "task_output")


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A checked example that is not stored yet. Hashes are made from its bytes `canonical`."""

    key: str
    input: Any
    expected: Any
    contexts: list[Any] | None
    metadata: Record
    canonical: bytes


def make_rows(
    records: Iterable[tuple[SourceLocation, Record]],
    names: Names,
    refusals: Refusals,
    *,
    text_cells: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[ExampleRow]:
    """Yield a row for each record, in order. Raises Invalid if a record cannot be converted to a row.

    After the first refused record no more rows are yielded, but the remaining records are checked, so that more errors
    are reported. `text_cells` is for formats with text cells: contexts and metadata are then parsed as JSON.
    """
    with closing(KeyIndex()) as keys:
        n_rows = 0
        for location, record in records:
            n_rows += 1
            if n_rows > limits.n_examples:
                raise refusals.stop(location, f"A version has at most {limits.n_examples} examples.")
            row = make_row(location, record, names, refusals, number=n_rows, text_cells=text_cells)
            if row is None:
                continue
            if first := keys.add(row.key, location.words):
                refusals.add(location, f"The id {row.key!r} is taken by: {first}.", "id")
            elif not refusals.errors:
                yield row
    refusals.raise_if_any()
    if not n_rows:
        raise Invalid(FieldError("/file", "Holds no examples."))


def row_of_fields(key: str, input: Any, expected: Any, contexts: list[Any] | None, metadata: Record) -> ExampleRow:
    """Return the row of an example that is stored already, with the bytes that it was hashed by."""
    fields = {"id": key, "input": input, "expected": expected, "contexts": contexts, "metadata": metadata}
    return ExampleRow(key, input, expected, contexts, metadata, encode_canonical(fields))


class KeyIndex:
    """The keys seen so far, in a temporary file: a million keys would need too much memory."""

    def __init__(self) -> None:
        # With an empty name SQLite opens a private database on disk, and deletes it when it is closed.
        self.database = sqlite3.connect("", isolation_level=None)
        self.database.execute("PRAGMA journal_mode = OFF")
        self.database.execute("CREATE TABLE keys (key TEXT PRIMARY KEY, words TEXT) WITHOUT ROWID")
        self.database.execute("BEGIN")

    def add(self, key: str, words: str) -> str | None:
        """Add a key. Return None if it is new, else the words for the place where it stood first."""
        if self.database.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (key, words)).rowcount:
            return None
        return str(self.database.execute("SELECT words FROM keys WHERE key = ?", (key,)).fetchone()[0])

    def close(self) -> None:
        """Close the database, which deletes the file."""
        self.database.close()


def make_row(
    location: SourceLocation, record: Record, names: Names, refusals: Refusals, *, number: int, text_cells: bool
) -> ExampleRow | None:
    """Return the record as a row, or None after adding its errors to `refusals`."""
    n_before, remainder = len(refusals.errors), dict(record)
    values = {field: names.take(remainder, field) for field in names.columns}
    names.rename(remainder)
    key = read_row_key(location, refusals, *values["id"], number=number)
    column, value = values["input"]
    if value is None and any(remainder.get(name) is not None for name in OUTPUT_COLUMNS):
        value = ""  # clients of Patronus upload outputs to be judged alone
    if value is None:
        missing = "empty" if column in record else "missing"
        refusals.add(location, f"`{column}` is {missing}; every example has an input.", column)
    contexts = read_passages(location, refusals, *values["contexts"], text_cells=text_cells)
    for name in remainder.keys() & set(PASSAGE_COLUMNS):
        remainder[name] = read_passages(location, refusals, name, remainder[name], text_cells=text_cells)
    metadata = read_metadata(location, refusals, *values["metadata"], rest=remainder, text_cells=text_cells)
    if len(refusals.errors) > n_before:
        return None
    fields = {"id": key, "input": value, "expected": values["expected"][1], "contexts": contexts, "metadata": metadata}
    canonical = canonical_bytes(location, refusals, fields)
    if canonical is None:
        return None
    return ExampleRow(key, value, values["expected"][1], contexts, metadata, canonical)


def read_row_key(location: SourceLocation, refusals: Refusals, column: str, value: object, *, number: int) -> str:
    """Return the caller's id as text; a row without one is known by its number, from 1."""
    if value is None:
        return str(number)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_KEY:
        refusals.add(location, f"`{column}` must be 1 to {MAX_KEY} characters of text, or an integer.", column)
        return ""
    return value


def read_passages(
    location: SourceLocation, refusals: Refusals, column: str, value: object, *, text_cells: bool
) -> list[object] | None:
    """Return a list of passages: texts, or objects with a `text` or an `id`. One passage alone becomes a list."""
    if text_cells and isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = decode_json(value)
        except ValueError:
            return [value]  # a text that happens to begin with a bracket
    if value is None:
        return None
    if is_passage(value):
        return [value]
    if not isinstance(value, list):
        refusals.add(location, f"`{column}` must be a text or a list of texts or passages.", column)
        return None
    for i, passage in enumerate(value):
        if not is_passage(passage):
            detail = f"`{column}` must be a list of texts, or of objects with `text` or `id`; item {i + 1} is neither."
            refusals.add(location, detail, column, str(i))
            return None
    return value


def is_passage(value: object) -> bool:
    """Return whether a value is a text, or an object that evaluators can read as a passage."""
    if isinstance(value, dict):
        text, key = (next((value[name] for name in names if name in value), None) for names in PASSAGE_NAMES)
        return isinstance(text, str) or (text is None and isinstance(key, str | int) and not isinstance(key, bool))
    return isinstance(value, str)


def read_metadata(
    location: SourceLocation, refusals: Refusals, column: str, value: object, *, rest: Record, text_cells: bool
) -> Record:
    """Return the metadata object together with `rest`, the columns that are not fields of an example."""
    if text_cells and isinstance(value, str):
        try:
            value = decode_json(value)
        except ValueError as exc:
            refusals.add(location, f"`{column}` is not valid JSON: {exc}.", column)
            return {}
    if value is None:
        return rest
    if not isinstance(value, dict):
        refusals.add(location, f"`{column}` must be an object.", column)
        return {}
    for name in rest:
        if name in value:
            refusals.add(location, f"`{name}` is both a column and a key of `{column}`.", name)
    return value | rest


def canonical_bytes(location: SourceLocation, refusals: Refusals, fields: Record) -> bytes | None:
    """Return the row as JSON with sorted keys: equal rows have equal bytes. None if it cannot be stored."""
    try:
        canonical = encode_canonical(fields)
    except TypeError as exc:
        problems = list(find_unstorable(fields)) or [FieldError("", f"Cannot be stored: {exc}.")]
    else:
        problems = list(find_unstorable(fields)) if might_be_unstorable(canonical) else []
        if len(canonical) > MAX_ROW_BYTES:
            problems = [FieldError("", f"Longer than {MAX_ROW_BYTES} bytes.")]
    for problem in problems[:3]:
        refusals.add_error(FieldError(location.pointer + problem.pointer, f"{location.words}: {problem.detail}"))
    return None if problems else canonical
