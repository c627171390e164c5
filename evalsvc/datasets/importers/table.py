"""CSV: a header, then text cells, separated by commas, semicolons or tabs. A column `input:json` contains JSON."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from evalsvc.datasets.importers.lines import MAX_ROW_BYTES, Readable, Record, decode_json, read_lines
from evalsvc.datasets.importers.locations import Refusals, SourceLocation

JSON_SUFFIX = ":json"
DELIMITERS = (",", ";", "\t")
"""Spreadsheets of countries with a decimal comma write semicolons."""
MAX_COLUMNS = 1000
csv.field_size_limit(MAX_ROW_BYTES)


def read_csv(file: Readable, refusals: Refusals) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield a record for each row; empty cells are None. The location is the row's first line."""
    n_lines = 0

    lines = read_lines(file, refusals)
    first = list(islice(lines, 1))

    def texts() -> Iterator[str]:
        nonlocal n_lines
        for location, text in chain(first, lines):
            n_lines = int(location.pointer.rpartition("/")[2])
            yield text

    reader = csv.reader(texts(), strict=True, delimiter=find_delimiter("".join(text for _, text in first)))
    header: list[str] = []
    while True:
        location = SourceLocation(f"/file/line/{n_lines + 1}", f"Line {n_lines + 1}")
        try:
            cells = next(reader, None)
        except csv.Error as exc:
            raise refusals.stop(
                location,
                f"Not valid CSV: {exc}. A text with a quote, a delimiter or a line break stands in double quotes.",
            ) from None
        if cells is None:
            return
        if not cells:
            continue
        if not header:
            header = check_header(location, cells, refusals)
        elif len(cells) != len(header):
            refusals.add(
                location, f"Has {len(cells)} cells where the header has {len(header)}: put texts in double quotes."
            )
        else:
            yield location, read_cells(location, header, [cell or None for cell in cells], refusals)


def find_delimiter(header: str) -> str:
    """Return the separator of the header: a comma if it contains one, else a semicolon or a tab."""
    unquoted = "".join(header.split('"')[::2])
    return next((delimiter for delimiter in DELIMITERS if delimiter in unquoted), ",")


def check_header(location: SourceLocation, cells: list[str], refusals: Refusals) -> list[str]:
    """Return the names of the columns; nothing can be read without them."""
    if len(cells) > MAX_COLUMNS:
        raise refusals.stop(location, f"At most {MAX_COLUMNS} columns.")
    names = [cell.removesuffix(JSON_SUFFIX) for cell in cells]
    for i, name in enumerate(names):
        if not name:
            raise refusals.stop(location, f"Column {i + 1} has no name.")
        if name in names[:i]:
            raise refusals.stop(location, f"Two columns are named {name!r}.", name)
    return cells


def read_cells(location: SourceLocation, header: list[str], cells: Sequence[object], refusals: Refusals) -> Record:
    """Return a row's cells by name, decoding those of JSON columns."""
    record: Record = {}
    for name, cell in zip(header, cells, strict=True):
        field = name.removesuffix(JSON_SUFFIX)
        record[field] = cell
        if field != name and isinstance(cell, str):
            try:
                record[field] = decode_json(cell)
            except ValueError as exc:
                refusals.add(location, f"`{name}` is not valid JSON: {exc}.", name)
    return record
