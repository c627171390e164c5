"""CSV: a header, then text cells, separated by commas, semicolons or tabs. A column `input:json` contains JSON."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from evalsvc.datasets.importers.json_text import decode_json
from evalsvc.datasets.importers.lines import MAX_ROW_BYTES, Readable, Record, read_lines
from evalsvc.datasets.importers.locations import Refusals, SourceLocation
from evalsvc.datasets.importers.names import is_known_name
from evalsvc.datasets.importers.summary import UploadSummary


class JsonText(str):
    """A text from a cell of JSON: unlike that of other cells, it is no list, however it looks."""

    __slots__ = ()


JSON_SUFFIX = ":json"
DELIMITERS = (",", ";", "\t")
"""Spreadsheets of countries with a decimal comma write semicolons."""
MAX_COLUMNS = 1000
CHOICE_COLUMNS = ("question", "A", "B", "C", "D", "answer")
_index_name = re.compile(r"(Unnamed: [0-9]+(_level_[0-9]+)?)?(\.[0-9]+)?")
_said_delimiter = re.compile(r"sep=([,;\t|])\s*")
"""The line before the header by which Excel knows the separator."""
_whole_number = re.compile(r"\s*[0-9]{1,18}(\.0)?\s*")
csv.field_size_limit(MAX_ROW_BYTES)


@dataclass(slots=True)
class Header:
    """The columns of a table. Those without a name are None: an index, and empty columns of a spreadsheet."""

    names: list[str | None] = field(default_factory=list)
    n_indexes: int = 0

    def has_value(self, cells: Sequence[str]) -> bool:
        """Return whether anything is in a row, but its place in an index."""
        return any(cell for i, cell in enumerate(cells) if i >= self.n_indexes)

    def read(self, location: SourceLocation, cells: Sequence[str | None], refusals: Refusals) -> Record | None:
        """Return the named cells of a row; None after refusing a row with a value in a column without a name."""
        for i, name in enumerate(self.names):
            cell = cells[i]
            if name is None and cell is not None and not (i < self.n_indexes and _whole_number.fullmatch(cell)):
                refusals.add(location, f"Column {i + 1} has no name, but holds {cell[:40]!r}: name it in the header.")
                return None
        named = [(name, cell) for name, cell in zip(self.names, cells, strict=True) if name is not None]
        return read_cells(location, [name for name, _ in named], [cell for _, cell in named], refusals)


def read_csv(
    file: Readable, refusals: Refusals, summary: UploadSummary | None = None, *, name: str = ""
) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield a record for each row; empty cells are None. The location is the row's first line.

    An index without a name, as pandas writes it, and rows without any value are ignored, and noted in the summary.
    """
    summary = summary or UploadSummary()
    n_lines = 0
    lines = read_lines(file, refusals)
    first = list(islice(lines, 1))

    def texts() -> Iterator[str]:
        nonlocal n_lines
        for location, text in chain(first, lines):
            n_lines = int(location.pointer.rpartition("/")[2])
            yield text

    first_line = "".join(text for _, text in first)
    delimiter = "\t" if name.lower().endswith(".tsv") else find_delimiter(first_line)
    if said := _said_delimiter.fullmatch(first_line):
        delimiter, first = said[1], list(islice(lines, 1))
        first_line = "".join(text for _, text in first)
    has_spaces = all(cell.startswith(" ") for cell in first_line.split(delimiter)[1:])
    reader = csv.reader(texts(), strict=True, delimiter=delimiter, skipinitialspace=has_spaces)
    header: Header | None = None
    while True:
        location = SourceLocation(f"/file/line/{n_lines + 1}", f"Line {n_lines + 1}")
        try:
            row = next(reader, None)
        except csv.Error as exc:
            raise refusals.stop(
                location,
                f"Not valid CSV: {exc}. A text with a quote, a delimiter or a line break stands in double quotes.",
            ) from None
        if row is None:
            return
        if header is None and is_row_of_choices(row):
            header = Header(list(CHOICE_COLUMNS))
            summary.note([f"The file has no header. Its columns are read as {', '.join(CHOICE_COLUMNS)}, as in MMLU."])
        if header is None:
            header = read_header(location, row, refusals, summary) if row else None
        elif not header.has_value(row):
            if row:
                summary.ignore_row(location.words)
        elif len(row) != len(header.names):
            n_names = len(header.names)
            refusals.add(location, f"Has {len(row)} cells where the header has {n_names}: put texts in double quotes.")
        elif record := header.read(location, [cell or None for cell in row], refusals):
            yield location, record


def is_row_of_choices(cells: Sequence[str]) -> bool:
    """Return whether the first row is a question of MMLU: the files of its authors have no header."""
    is_choice = len(cells) == len(CHOICE_COLUMNS) and cells[-1].strip() in CHOICE_COLUMNS[1:-1]
    return is_choice and all(cells) and not any(is_known_name(cell.strip()) for cell in cells)


def find_delimiter(header: str) -> str:
    """Return the separator that gives the most names of fields, else the first of comma, semicolon and tab it has."""
    unquoted = "".join(header.split('"')[::2])
    found = [delimiter for delimiter in DELIMITERS if delimiter in unquoted]

    def count_known(delimiter: str) -> int:
        return sum(is_known_name(cell.strip().strip('"')) for cell in header.split(delimiter))

    return max(found, key=count_known, default=",")


def read_header(location: SourceLocation, cells: list[str], refusals: Refusals, summary: UploadSummary) -> Header:
    """Return the columns of a table with an index or without."""
    names = find_names(location, cells, refusals, may_be_nameless=True)
    n_indexes = next(i for i, name in enumerate(names) if name is not None)
    for i, cell in enumerate(cells[:n_indexes], 1):
        summary.ignore(f"Column {i}, {cell!r}: an index." if cell else f"Column {i}: an index without a name.")
    nameless = [str(i) for i, name in enumerate(names, 1) if name is None and i > n_indexes]
    if nameless:
        summary.ignore(f"Columns without a name or a value: {', '.join(nameless)}.")
    return Header(names, n_indexes)


def check_header(location: SourceLocation, cells: Sequence[str], refusals: Refusals) -> list[str]:
    """Return the names of the columns, without spaces around them; nothing can be read without them."""
    names = find_names(location, cells, refusals, may_be_nameless=False)
    return [name for name in names if name is not None]


def find_names(
    location: SourceLocation, cells: Sequence[str], refusals: Refusals, *, may_be_nameless: bool
) -> list[str | None]:
    """Return the name of each column; None, where it may be, for one that has none."""
    if len(cells) > MAX_COLUMNS:
        raise refusals.stop(location, f"At most {MAX_COLUMNS} columns.")
    names: list[str | None] = []
    seen: set[str] = set()
    for i, cell in enumerate(cells):
        name = cell.strip()
        plain = name.removesuffix(JSON_SUFFIX).rstrip()
        if may_be_nameless and (not name or (not seen and _index_name.fullmatch(name))):
            names.append(None)
            continue
        if not plain:
            raise refusals.stop(location, f"Column {i + 1} has no name.")
        if plain in seen:
            raise refusals.stop(location, f"Two columns are named {plain!r}.", plain)
        seen.add(plain)
        names.append(name)
    if not seen:
        raise refusals.stop(location, "No column has a name.")
    return names


def read_cells(location: SourceLocation, header: Sequence[str], cells: Sequence[object], refusals: Refusals) -> Record:
    """Return a row's cells by name, decoding those of JSON columns."""
    record: Record = {}
    for name, cell in zip(header, cells, strict=True):
        field = name.removesuffix(JSON_SUFFIX).rstrip()
        is_json = field != name and isinstance(cell, str)
        record[field] = read_json_cell(location, name, str(cell), refusals) if is_json else cell
    return record


def read_json_cell(location: SourceLocation, name: str, cell: str, refusals: Refusals) -> object:
    """Return the value of a cell of JSON; None after refusing one that is not."""
    try:
        value = decode_json(cell)
    except ValueError as exc:
        refusals.add(location, f"`{name}` is not valid JSON: {exc}.", name)
        return None
    return JsonText(value) if isinstance(value, str) else value
