"""Turn records of any file format into rows that can be stored."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from evalsvc.datasets.importers.json_text import decode_json, encode_canonical
from evalsvc.datasets.importers.limits import DEFAULT_LIMITS, MAX_KEY, Limits
from evalsvc.datasets.importers.lines import MAX_ROW_BYTES, ConvertedRecord, Record
from evalsvc.datasets.importers.list_cells import parse_text_list
from evalsvc.datasets.importers.locations import Refusals, SourceLocation
from evalsvc.datasets.importers.names import (
    FIELDS,
    FINISH_REASON,
    OUTPUT_COLUMNS,
    PASSAGE_COLUMNS,
    ColumnPlan,
    Names,
    join_columns,
)
from evalsvc.datasets.importers.summary import UploadSummary
from evalsvc.documents import find_unstorable, might_be_unstorable
from evalsvc.problems import FieldError, Invalid

MAX_FINISH_REASON = 50
# The keys of a passage object: first those for its text, then those for its id.
PASSAGE_NAMES = (("text", "content"), ("id", "document_id", "doc_id", "_id"))
MAX_IN_MEMORY = 100_000
"""Keys of an upload, and contents: about 30 MB. The others are kept in a file."""


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A checked example that is not stored yet. Hashes are made from its bytes `canonical`.

    `content_digest` is a digest of what is evaluated of it: its id and other metadata make no difference.
    """

    key: str
    input: Any
    expected: Any
    contexts: list[Any] | None
    metadata: Record
    canonical: bytes
    content_digest: bytes

    @property
    def output(self) -> Any:
        """Return the output that came with the example; None if none did."""
        return get_output(self.metadata)


def make_rows(
    records: Iterable[tuple[SourceLocation, Record]],
    names: Names,
    refusals: Refusals,
    *,
    text_cells: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    summary: UploadSummary | None = None,
) -> Iterator[ExampleRow]:
    """Yield a row for each record, in order. Raises Invalid if a record cannot be converted to a row.

    After the first refused record no more rows are yielded, but the remaining records are checked, so that more errors
    are reported. `text_cells` is for formats with text cells: lists and metadata are then parsed. All rows of these
    have the same columns. `summary` is complete once the iterator is at its end.
    """
    summary = summary or UploadSummary()
    reader = RecordReader(names, refusals, summary, text_cells=text_cells)
    with closing(SeenRows()) as seen:
        for location, record in records:
            summary.n_examples += 1
            if summary.n_examples > limits.n_examples:
                raise refusals.stop(location, f"A version has at most {limits.n_examples} examples.")
            row = reader.read(location, record, number=summary.n_examples)
            if row is None:
                continue
            if first := seen.add_key(row.key, location.words):
                refusals.add(location, f"The id {row.key!r} is taken by: {first}.", "id")
            elif not refusals.errors:
                seen.contents.add(row.content_digest)
                yield row
        summary.n_distinct = seen.contents.count()
    reader.raise_for_missing_columns()
    refusals.raise_if_any()
    if not summary.n_examples:
        raise Invalid(FieldError("/file", "Holds no examples."))


def row_of_fields(key: str, input: Any, expected: Any, contexts: list[Any] | None, metadata: Record) -> ExampleRow:
    """Return the row of an example that is stored already, with the bytes that it was hashed by."""
    fields = {"id": key, "input": input, "expected": expected, "contexts": contexts, "metadata": metadata}
    content = digest_content(input, expected, contexts, metadata)
    return ExampleRow(key, input, expected, contexts, metadata, encode_canonical(fields), content)


def get_output(metadata: Record) -> Any:
    """Return the output that metadata has; None if there is none."""
    for name in OUTPUT_COLUMNS:
        if (output := metadata.get(name)) is not None:
            return output
    return None


def digest_content(input: Any, expected: Any, contexts: list[Any] | None, metadata: Record) -> bytes:
    """Return a digest of what is evaluated of an example."""
    return hashlib.sha256(encode_canonical([input, expected, contexts, get_output(metadata)])).digest()[:16]


class SeenRows:
    """The keys and contents seen so far: the first in memory, the others in a temporary file.

    A million of them would need too much memory, and a statement for each takes a quarter of the time of an upload.
    """

    def __init__(self) -> None:
        # With an empty name SQLite opens a private database on disk, and deletes it when it is closed.
        self.database = sqlite3.connect("", isolation_level=None)
        self.database.execute("PRAGMA journal_mode = OFF")
        self.database.execute("CREATE TABLE keys (key TEXT PRIMARY KEY, words TEXT) WITHOUT ROWID")
        self.database.execute("BEGIN")
        self.keys: dict[str, str] = {}
        self.contents = DistinctContents(self.database)

    def add_key(self, key: str, words: str) -> str | None:
        """Add a key. Return None if it is new, else the words for the place where it stood first."""
        if (first := self.keys.get(key)) is not None:
            return first
        if len(self.keys) < MAX_IN_MEMORY:
            self.keys[key] = words
            return None
        if self.database.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (key, words)).rowcount:
            return None
        return str(self.database.execute("SELECT words FROM keys WHERE key = ?", (key,)).fetchone()[0])

    def close(self) -> None:
        """Close the database, which deletes the file."""
        self.database.close()


class DistinctContents:
    """Counts different digests of contents. They are moved to a table of the database when they are many."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        self.database.execute("CREATE TABLE contents (digest BLOB PRIMARY KEY) WITHOUT ROWID")
        self.digests: set[bytes] = set()
        self.is_moved = False

    def add(self, digest: bytes) -> None:
        """Add a digest."""
        self.digests.add(digest)
        if len(self.digests) > MAX_IN_MEMORY:
            self.move()

    def count(self) -> int:
        """Return how many different digests there are."""
        if not self.is_moved:
            return len(self.digests)
        self.move()
        return int(self.database.execute("SELECT count(*) FROM contents").fetchone()[0])

    def move(self) -> None:
        """Move digests from memory to the table."""
        rows = ((digest,) for digest in sorted(self.digests))  # in the order of the table, which is quicker
        self.database.executemany("INSERT OR IGNORE INTO contents VALUES (?)", rows)
        self.digests.clear()
        self.is_moved = True


class RecordReader:
    """Turns records into rows, and counts which columns they are made of."""

    def __init__(self, names: Names, refusals: Refusals, summary: UploadSummary, *, text_cells: bool) -> None:
        self.names, self.refusals, self.summary, self.text_cells = names, refusals, summary, text_cells

    def read(self, location: SourceLocation, record: Record, *, number: int) -> ExampleRow | None:
        """Return the record as a row, or None after adding its errors to the refusals."""
        n_before, plan = len(self.refusals.errors), self.names.plan(record)
        if plan.conflict is not None:
            raise self.refusals.stop(location, plan.conflict.detail, *plan.conflict.columns[:1])
        if self.text_cells:
            self.raise_for_missing_columns()
        fields = self.take_fields(location, record, plan)
        key = read_row_key(location, self.refusals, *fields["id"], number=number)
        value, expected, contexts = (fields[name][1] for name in ("input", "expected", "contexts"))
        metadata = self.read_metadata(location, record, plan, fields)
        self.check_finish_reason(location, *fields.get(FINISH_REASON, ("", None)))
        if value is None and fields["output"][1] is not None:
            value = ""  # an output to be judged alone
        if value is None:
            column = fields["input"][0]
            missing = "empty" if column in record else "missing"
            self.refusals.add(location, f"`{column}` is {missing}; every example has an input.", column)
        if len(self.refusals.errors) > n_before:
            return None
        values = {"id": key, "input": value, "expected": expected, "contexts": contexts, "metadata": metadata}
        canonical = canonical_bytes(location, self.refusals, values)
        if canonical is None:
            return None
        content = digest_content(value, expected, contexts, metadata)
        return ExampleRow(key, value, expected, contexts, metadata, canonical, content)

    def take_fields(self, location: SourceLocation, record: Record, plan: ColumnPlan) -> dict[str, tuple[str, Any]]:
        """Return column and value of each field; of one without a column, its own name and None."""
        fields: dict[str, tuple[str, Any]] = {}
        for planned in plan.fields:
            field, column, columns = planned.field, planned.column, planned.columns
            value = join_columns(record, columns, as_list=field == "contexts") if columns else None
            if field == "contexts":
                cell, value = value, read_passages(location, self.refusals, column, value, text_cells=self.text_cells)
                if value == [cell] and looks_like_list(cell):
                    self.summary.note([f"`{column}` has texts that look like lists but are none: each is one context."])
            elif field == "expected" and type(value) is str and (self.text_cells or planned.is_list):
                texts = parse_text_list(value)
                value = value if texts is None else texts
            fields[field] = column, value
            if columns:
                self.count(field, columns, record)
        for name, field in plan.passed_over.items():
            self.summary.note([f"`{name}` could be `{field}` too. It is stored in the metadata."])
        return fields

    def check_finish_reason(self, location: SourceLocation, column: str, value: object) -> None:
        """Add an error for a finish reason that nothing can be told from."""
        if value is not None and not (isinstance(value, str) and len(value) <= MAX_FINISH_REASON):
            detail = f"`{column}` must be a text of at most {MAX_FINISH_REASON} characters."
            self.refusals.add(location, detail, column)

    def read_metadata(
        self, location: SourceLocation, record: Record, plan: ColumnPlan, fields: Mapping[str, tuple[str, Any]]
    ) -> Record:
        """Return the metadata object together with all columns that are not fields of an example."""
        rest = {stored: record[name] for name, stored in plan.stored.items()}
        rest |= {name: value for name, (_, value) in fields.items() if name not in FIELDS and value is not None}
        column, output = fields["output"]
        if output is not None:
            rest[self.names.get_stored_output(column)] = output
        for name in rest.keys() & set(PASSAGE_COLUMNS):
            rest[name] = read_passages(location, self.refusals, name, rest[name], text_cells=self.text_cells)
        self.count("metadata", plan.stored, record)
        return read_metadata(location, self.refusals, *fields["metadata"], rest=rest, text_cells=self.text_cells)

    def count(self, field: str, columns: Iterable[str], record: Record) -> None:
        """Count columns, under the names that they have in the file."""
        sources = record.sources if isinstance(record, ConvertedRecord) else {}
        for name in columns:
            self.summary.count(field, sources.get(name, name), has_value=record[name] is not None)

    def raise_for_missing_columns(self) -> None:
        """Raise Invalid if the mapping names a column that no record has had."""
        if errors := self.names.find_missing():
            raise Invalid(*errors[:10])


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
    if type(value) is str and value.lstrip().startswith("["):
        # Where it is no list, it is a text that happens to begin with a bracket.
        value = decode_passages(value) if text_cells else parse_text_list(value) or value
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


def looks_like_list(cell: object) -> bool:
    """Return whether a text is in brackets."""
    return isinstance(cell, str) and cell.strip().startswith("[") and cell.strip().endswith("]")


def decode_passages(cell: str) -> object:
    """Return the list of texts or passages that a cell holds, else the cell."""
    try:
        return decode_json(cell)
    except ValueError:
        return parse_text_list(cell) or cell


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
