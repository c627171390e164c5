"""A JSON list of objects, read an item at a time: the file may be larger than the memory."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator

from evalsvc.datasets.importers.json_text import decode_json
from evalsvc.datasets.importers.lines import BOM, MAX_ROW_BYTES, Readable, Record, refuse_json
from evalsvc.datasets.importers.locations import Refusals, SourceLocation

CHUNK = 1 << 16
SPACE = " \t\r\n"
FILE = SourceLocation("/file", "The file")
_decoder = json.JSONDecoder()


class Text:
    """The text of a file, as much of it as was needed so far and is not read yet."""

    def __init__(self, file: Readable) -> None:
        self.file = file
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.rest = ""
        self.is_first, self.is_at_end = True, False

    def extend(self, n_bytes: int = CHUNK) -> bool:
        """Read more; return False at the end of the file."""
        chunk = self.file.read(n_bytes)
        self.is_at_end = not chunk
        self.rest += self.decoder.decode(chunk.removeprefix(BOM) if self.is_first else chunk, final=not chunk)
        self.is_first = False
        return not self.is_at_end

    def peek(self) -> str:
        """Return the next character that is no space; an empty text at the end."""
        while not (rest := self.rest.lstrip(SPACE)) and self.extend():
            pass
        self.rest = rest
        return rest[:1]

    def take_value(self) -> str | None:
        """Take the next JSON value; None where there is none, or none that is short enough."""
        n_bytes = CHUNK
        while True:
            try:
                _, end = _decoder.raw_decode(self.rest)
            except (ValueError, RecursionError):
                if len(self.rest) > MAX_ROW_BYTES or not self.extend(n_bytes):
                    return None
                n_bytes = len(self.rest)
                continue
            value, self.rest = self.rest[:end], self.rest[end:]
            return value


def read_list(file: Readable, refusals: Refusals) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield each object of a list with its location, counted from 0 in the pointer and from 1 in the words."""
    try:
        yield from _read_items(Text(file), refusals)
    except UnicodeDecodeError as exc:
        raise refusals.stop(FILE, f"Not valid UTF-8: {exc.reason}. Save the file as UTF-8.") from None


def _read_items(text: Text, refusals: Refusals) -> Iterator[tuple[SourceLocation, Record]]:
    if text.peek() != "[":
        raise refusals.stop(FILE, "Expected a JSON list of objects.")
    text.rest = text.rest[1:]
    number = 0
    while text.peek() != "]" or number:
        location = SourceLocation(f"/file/{number}", f"Item {number + 1}")
        number += 1
        if (record := _read_item(text, location, refusals)) is not None:
            yield location, record
        separator = text.peek()
        text.rest = text.rest[1:]
        if separator == "]":
            break
        if separator != ",":
            raise refusals.stop(location, "Not valid JSON: expected a comma or the end of the list after it.")
    else:
        text.rest = text.rest[1:]
    if text.peek():
        raise refusals.stop(FILE, "Not valid JSON: something follows the end of the list.")


def _read_item(text: Text, location: SourceLocation, refusals: Refusals) -> Record | None:
    begins_with = text.peek()
    value = text.take_value()
    if value is None:
        if len(text.rest) > MAX_ROW_BYTES:
            raise refusals.stop(location, f"Not valid JSON, or longer than {MAX_ROW_BYTES} bytes.")
        try:
            decode_json(text.rest)
        except ValueError as exc:
            raise refusals.stop(location, f"Not valid JSON: {exc}.") from None
        raise refusals.stop(location, "Not valid JSON.")
    if begins_with != "{":
        refusals.add(location, "Expected a JSON object.")
        return None
    try:
        record = decode_json(value)
    except ValueError as exc:
        refuse_json(location, value, exc, refusals)
        return None
    return record if isinstance(record, dict) else None
