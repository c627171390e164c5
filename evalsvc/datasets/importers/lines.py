"""Read the lines of an untrusted file. No line is read into memory beyond the size limit of a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from evalsvc.datasets.importers.json_text import decode_json, find_not_finite
from evalsvc.datasets.importers.locations import Refusals, SourceLocation
from evalsvc.problems import FieldError

MAX_ROW_BYTES = 4 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
Record = dict[str, Any]
__all__ = (
    "BOM",
    "MAX_ROW_BYTES",
    "ConvertedRecord",
    "Readable",
    "Record",
    "decode_json",
    "read_lines",
    "read_objects",
    "refuse_json",
)


class ConvertedRecord(Record):
    """A record with the columns of an example, and the columns of the file that these came from, as far as is known."""

    sources: Mapping[str, str]


class Readable(Protocol):
    """A file of bytes, as far as importers use it."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""

    def readline(self, limit: int = -1, /) -> bytes:
        """Return the next line or a part of it."""


def read_lines(
    file: Readable, refusals: Refusals, *, of: str = "/file", name: str = ""
) -> Iterator[tuple[SourceLocation, str]]:
    """Yield each line as text with its location, counted from 1. Lines that are too long or not UTF-8 are refused.

    `of` is the JSON pointer of the file, for errors. `name` is the name of the file in an upload of several files.
    """
    number = 0
    while line := file.readline(MAX_ROW_BYTES + 1):
        number += 1
        location = SourceLocation(f"{of}/line/{number}", f"{name}, line {number}" if name else f"Line {number}")
        if len(line) > MAX_ROW_BYTES:
            refusals.add(location, f"Longer than {MAX_ROW_BYTES} bytes.")
            # Skip the rest in pieces: the whole line may not fit into memory.
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_ROW_BYTES)
            continue
        try:
            text = (line.removeprefix(BOM) if number == 1 else line).decode()
        except UnicodeDecodeError as exc:
            refusals.add(location, f"Not valid UTF-8 at byte {exc.start + 1} of the line: save the file as UTF-8.")
            continue
        yield location, text


def read_objects(file: Readable, refusals: Refusals, **where: str) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield the JSON object of each line that is not blank. Takes the options of `read_lines`."""
    for location, text in read_lines(file, refusals, **where):
        if not text.strip():
            continue
        try:
            record = decode_json(text)
        except ValueError as exc:
            refuse_json(location, text, exc, refusals)
            continue
        if isinstance(record, dict):
            yield location, record
        else:
            refusals.add(location, "Expected a JSON object.")


def refuse_json(location: SourceLocation, text: str, exc: ValueError, refusals: Refusals) -> None:
    """Refuse a text that is no JSON: by its fields where only numbers are wrong, which other programs write."""
    for error in (found := find_not_finite(text)):
        detail = f"{location.words}: Not valid JSON: {error.detail}"
        refusals.add_error(FieldError(location.pointer + error.pointer, detail))
    if not found:
        refusals.add(location, f"Not valid JSON: {exc}.")
