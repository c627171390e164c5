"""One JSON document of any length, read item by item: what is in memory is an item, never the document."""

from __future__ import annotations

import codecs
import json
from collections.abc import Generator, Iterator, Sequence
from typing import BinaryIO

CHUNK = 1 << 20
MAX_ITEM = 16 << 20
"""Characters of an item. What the service takes of one is four megabytes."""
LISTS: Sequence[str] = ("data", "examples")
"""Members that are the list which a document is about: a page of an API, a dataset."""
Members = dict[str, object]


class NotJson(Exception):
    """The document cannot be read from here on."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.reason = line, reason


class JsonCursor:
    """A cursor in the text of a document."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._decoder = json.JSONDecoder(parse_constant=lambda _: None)
        self._text, self._at, self._is_all = "", 0, False
        self.line = 1

    def peek(self) -> str:
        """Return the next character that is not white space; nothing at the end."""
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._forward(self._at + 1)
            if self._is_all:
                return ""
            self._more()

    def take(self, *expected: str) -> str:
        """Step over the next character, which must be one of these."""
        char = self.peek()
        if char not in expected or not char:
            options = " or ".join(map(repr, expected))
            raise NotJson(self.line, f"{options} is expected, and {repr(char) if char else 'the end'} is found.")
        self._forward(self._at + 1)
        return char

    def value(self) -> object:
        """Read the next value whole."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError:
                raise NotJson(self.line, "It is nested too deeply.") from None
            except ValueError as exc:
                reason = exc.msg if isinstance(exc, json.JSONDecodeError) else str(exc)
                self._more_or(f"This is not JSON: {reason}.")
                continue
            # A number may go on in what is not read yet.
            if end < len(self._text) or self._is_all:
                self._forward(end)
                return value
            self._more_or("It is longer than an item may be.")

    def _more_or(self, reason: str) -> None:
        if self._is_all or len(self._text) - self._at > MAX_ITEM:
            raise NotJson(self.line, reason)
        self._more()

    def _forward(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _more(self) -> None:
        # As much again as is there, so that a long item is not parsed from its start a thousand times.
        chunk = self._stream.read(max(CHUNK, len(self._text) - self._at))
        self._is_all = not chunk
        try:
            self._text = self._text[self._at :] + self._utf8.decode(chunk, final=self._is_all)
        except UnicodeDecodeError:
            raise NotJson(self.line, "What follows is not UTF-8.") from None
        self._at = 0


def read_document(stream: BinaryIO, lists: Sequence[str] = LISTS) -> Iterator[tuple[int, object, Members]]:
    """Yield each item of the document's list with its line and the members that stood before the list.

    A document that is an object without such a list is one item. Raises NotJson where it cannot be read any further.
    """
    document = JsonCursor(stream)
    about: Members = {}
    if document.peek() == "[":
        yield from _items(document, about)
    elif (yield from _members(document, about, lists)) == 0:
        yield 1, about, {}
    if document.peek():
        raise NotJson(document.line, "Nothing is expected after the end of the document.")


def _items(document: JsonCursor, about: Members) -> Iterator[tuple[int, object, Members]]:
    document.take("[")
    if document.peek() == "]":
        document.take("]")
        return
    while True:
        document.peek()
        line = document.line
        yield line, document.value(), about
        if document.take(",", "]") == "]":
            return


def _members(
    document: JsonCursor, about: Members, lists: Sequence[str]
) -> Generator[tuple[int, object, Members], None, int]:
    """Read an object's members, and return how many of them were lists of items."""
    n_lists = 0
    document.take("{")
    if document.peek() == "}":
        document.take("}")
        return n_lists
    while True:
        name = str(document.value())
        document.take(":")
        if name in lists and document.peek() == "[":
            n_lists += 1
            yield from _items(document, about)
        elif name in lists and document.peek() == "{":
            n_lists += yield from _members(document, about, lists)
        else:
            about[name] = document.value()
        if document.take(",", "}") == "}":
            return n_lists
