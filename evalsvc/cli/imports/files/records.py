"""The records of a file of JSON lines, a JSON document or CSV, packed by gzip or not, one at a time."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from evalsvc.cli.imports.files.archives import is_inspect_log, read_inspect_log
from evalsvc.cli.imports.files.documents import LISTS, MAX_ITEM, NotJson, read_document
from evalsvc.cli.imports.files.values import Fault, Place, Values

BOM = b"\xef\xbb\xbf"
FOREIGN = {b"PAR1": "Parquet", b"PK\x03\x04": "a zip file", b"SQLite": "a database"}
"""What people may have instead, by its first bytes."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """An object of a file, with the members that apply to all objects of the file."""

    place: Place
    values: Values
    about: Mapping[str, object] = field(default_factory=dict)
    is_csv: bool = False


def read_file_records(path: Path, lists: Sequence[str] = LISTS) -> Iterator[FileRecord | Fault]:
    """Yield each record or what is wrong with it. A fault that is fatal is the last: nothing after it can be read."""
    name = str(path)
    try:
        head = _head(path)
        foreign = next((what for start, what in FOREIGN.items() if head.startswith(start)), None)
        if is_inspect_log(path):
            for entry, item, about in read_inspect_log(path):
                yield _record(Place(f"{name}:{entry}", 1), item, about)
        elif foreign:
            what = "JSON lines, JSON and CSV can be read (.gz as well): export it again as one of them."
            yield Fault(Place(name, 1), "", f"This is {foreign}. {what}", is_fatal=True)
        elif not head.strip():
            yield Fault(Place(name, 1), "", "The file is empty.", is_fatal=True)
        else:
            is_whole = _is_document(head, lists)
            read_whole = partial(_read_document, lists=lists)
            read = _read_csv if head[:1] not in (b"{", b"[") else read_whole if is_whole else _read_lines
            with _open(path) as stream:
                yield from read(stream, name)
    except NotJson as exc:
        yield Fault(Place(name, exc.line), "", exc.reason, is_fatal=True)
    except (OSError, EOFError, gzip.BadGzipFile) as exc:
        yield Fault(Place(name, 1), "", f"The file cannot be read: {exc}.", is_fatal=True)


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as stream:
        is_packed = stream.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path)) if is_packed else path.open("rb")


def _head(path: Path) -> bytes:
    """Return the first line that is not blank, up to the maximum length of an item."""
    with _open(path) as stream:
        while line := stream.readline(MAX_ITEM):
            if text := line.removeprefix(BOM).strip():
                return text
    return b""


def _is_document(head: bytes, lists: Sequence[str]) -> bool:
    """Return whether a file that begins with this line is one JSON document, not a record a line."""
    if head[:1] == b"[":
        return True
    try:
        record = json.loads(head)
    except ValueError:
        # The first line of an indented object ends where something follows. A line that was cut off does not.
        return len(head) == MAX_ITEM or head[-1:] in (b"{", b"[", b",")
    except RecursionError:
        return False
    return any(_holds_list(record.get(name), lists) for name in lists)


def _holds_list(value: object, lists: Sequence[str]) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and any(name in value for name in lists))


def _read_document(stream: BinaryIO, name: str, lists: Sequence[str]) -> Iterator[FileRecord | Fault]:
    try:
        for line, item, about in read_document(stream, lists):
            yield _record(Place(name, line), item, about)
    except NotJson as exc:
        yield Fault(Place(name, exc.line), "", f"{exc.reason} What follows cannot be read.", is_fatal=True)


def _read_lines(stream: BinaryIO, name: str) -> Iterator[FileRecord | Fault]:
    number = 0
    while line := stream.readline(MAX_ITEM):
        number += 1
        if len(line) == MAX_ITEM:
            yield Fault(Place(name, number), "", f"The line is longer than {MAX_ITEM} bytes.")
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_ITEM)
        elif line.strip():
            yield _line(Place(name, number), line.removeprefix(BOM) if number == 1 else line)


def _line(place: Place, line: bytes) -> FileRecord | Fault:
    try:
        return _record(place, json.loads(line.rstrip().decode(), parse_constant=lambda _: None))
    except UnicodeDecodeError as exc:
        return Fault(place, "", f"It is not UTF-8 at byte {exc.start + 1}.")
    except json.JSONDecodeError as exc:
        return Fault(place, "", f"This is not JSON at column {exc.colno}: {exc.msg}.")
    except (ValueError, RecursionError) as exc:
        return Fault(place, "", f"This cannot be read as JSON: {exc}.")


def _record(place: Place, item: object, about: Mapping[str, object] | None = None) -> FileRecord | Fault:
    columns = (about or {}).get("columns")
    if isinstance(item, list) and isinstance(columns, list) and len(item) == len(columns):
        # A table that pandas or MLflow has split into its header and its rows.
        item = dict(zip(map(str, columns), item, strict=True))
    if not isinstance(item, dict):
        return Fault(place, "", "An object is expected.")
    return FileRecord(place, item, dict(about or {}))


def _read_csv(stream: BinaryIO, name: str) -> Iterator[FileRecord | Fault]:
    csv.field_size_limit(MAX_ITEM)
    rows = csv.reader(_texts(stream), strict=True)
    header: list[str] = []
    begin = 1
    try:
        for cells in rows:
            if not header:
                header = _number_repeated(cells)
            elif cells:
                yield _row(Place(name, begin), header, cells)
            begin = rows.line_num + 1
    except UnicodeDecodeError:
        yield Fault(Place(name, begin), "", "It is not UTF-8. What follows cannot be read.", is_fatal=True)
    except csv.Error as exc:
        yield Fault(Place(name, begin), "", f"This is not CSV: {exc}. What follows cannot be read.", is_fatal=True)


def _number_repeated(header: list[str]) -> list[str]:
    """Return the names of columns, the second of a name as `name.1`, so that none hides another."""
    seen: Counter[str] = Counter()
    names = []
    for name in header:
        names.append(f"{name}.{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return names


def _texts(stream: BinaryIO) -> Iterator[str]:
    """Yield lines as text; their ends belong to cells that have several lines."""
    first = True
    while line := stream.readline(MAX_ITEM):
        yield (line.removeprefix(BOM) if first else line).decode()
        first = False


def _row(place: Place, header: list[str], cells: list[str]) -> FileRecord | Fault:
    if len(cells) != len(header):
        return Fault(place, "", f"The header has {len(header)} columns, and this row has {len(cells)}.")
    return FileRecord(place, dict(zip(header, cells, strict=True)), is_csv=True)
