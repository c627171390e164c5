"""SQuAD 1.1 and 2.0: one JSON document, read a paragraph at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import ijson

from evalsvc.datasets.importers.lines import MAX_ROW_BYTES, Readable, Record
from evalsvc.datasets.importers.locations import Refusals, SourceLocation
from evalsvc.datasets.importers.squad_answers import read_answers
from evalsvc.documents import MAX_DEPTH

ARTICLE, PARAGRAPH = "data/*", "data/*/paragraphs/*"
_escaped = re.compile(rb"\\.", re.DOTALL)


class BoundedTexts:
    """A file without overlong texts or numbers.

    The parser buffers each in full, so they are refused before they are parsed.
    """

    def __init__(self, file: Readable) -> None:
        self.file = file
        self.n_since_quote = 0
        self.tail = b""

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        chunk = self.file.read(size)
        bare = _escaped.sub(b"", self.tail + chunk)
        self.tail = b"\\" if bare.endswith(b"\\") else b""
        self.n_since_quote = 0 if b'"' in bare else self.n_since_quote + len(chunk)
        if self.n_since_quote > MAX_ROW_BYTES:
            raise ijson.JSONError(f"a text or number is longer than {MAX_ROW_BYTES} bytes")
        return chunk


class Path:
    """Where the parser is: keys of maps and indexes of arrays, one for each open container."""

    def __init__(self) -> None:
        self.parts: list[str | int] = []

    def enter(self, event: str, value: Any) -> None:
        """Move to where an event happens."""
        if event in ("end_map", "end_array"):
            self.parts.pop()
        elif event == "map_key":
            self.parts[-1] = value
        elif self.parts and isinstance(self.parts[-1], int):
            self.parts[-1] += 1

    def leave(self, event: str) -> None:
        """Go into the container that an event opens."""
        if event in ("start_map", "start_array"):
            self.parts.append("" if event == "start_map" else -1)
            if len(self.parts) > MAX_DEPTH:
                raise ijson.JSONError(f"nested deeper than {MAX_DEPTH} levels")

    def __str__(self) -> str:
        if len(self.parts) > len(PARAGRAPH.split("/")):
            return ""
        return "/".join("*" if isinstance(part, int) else part for part in self.parts)


class Builder:
    """One paragraph, put together from events up to the limit of a row."""

    def __init__(self) -> None:
        self.built = ijson.ObjectBuilder()
        self.size = 0

    def add(self, event: str, value: object) -> None:
        """Take the next event."""
        self.built.event(event, value)
        self.size += 10 + (len(value) if isinstance(value, str) else 0)
        if self.size > MAX_ROW_BYTES:
            raise ijson.JSONError(f"a paragraph is longer than {MAX_ROW_BYTES} bytes")


def read_squad(file: Readable, refusals: Refusals) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield an example for each question: the paragraph is its context, the answers a list of texts with their places.

    The accepted answer of a question that has none (2.0) is the empty text, as the data set's own script scores it.
    """
    try:
        for location, title, paragraph in paragraphs(file):
            yield from questions(location, title, paragraph, refusals)
    except (ijson.JSONError, UnicodeDecodeError) as exc:
        reason = str(exc).splitlines()[0].removeprefix("parse error: ")
        raise refusals.stop(SourceLocation("/file", "The file"), f"Not valid JSON: {reason}.") from None


def paragraphs(file: Readable) -> Iterator[tuple[SourceLocation, str | None, Any]]:
    """Yield each `data[i].paragraphs[j]` with the article's title, if the title came before it."""
    path, title = Path(), None
    builder: Builder | None = None
    for event, value in ijson.basic_parse(BoundedTexts(file), use_float=True):
        path.enter(event, value)
        at = str(path)
        if builder is None and (at, event) == (PARAGRAPH, "start_map"):
            builder = Builder()
        elif (at, event) == (ARTICLE, "start_map"):
            title = None
        elif (at, event) == (f"{ARTICLE}/title", "string"):
            title = value
        if builder is not None:
            builder.add(event, value)
            if (at, event) == (PARAGRAPH, "end_map"):
                _, article, _, number = path.parts
                words = f"Article {int(article) + 1}, paragraph {int(number) + 1}"
                yield SourceLocation(f"/file/data/{article}/paragraphs/{number}", words), title, builder.built.value
                builder = None
        path.leave(event)


def questions(
    location: SourceLocation, title: str | None, paragraph: Any, refusals: Refusals
) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield the examples of one paragraph."""
    context, questions_raw = paragraph.get("context"), paragraph.get("qas")
    if not isinstance(context, str):
        refusals.add(location, "`context` must be a text.", "context")
        return
    if not isinstance(questions_raw, list):
        refusals.add(location, "`qas` must be a list of questions.", "qas")
        return
    for i, question in enumerate(questions_raw):
        question_location = SourceLocation(f"{location.pointer}/qas/{i}", f"{location.words}, question {i + 1}")
        if not isinstance(question, dict):
            refusals.add(question_location, "Expected an object.")
        elif (answers := read_answers(question_location, question, refusals)) is not None:
            metadata = {"title": title, "is_impossible": question.get("is_impossible")}
            yield (
                question_location,
                {
                    "id": question.get("id"),
                    "input": question.get("question"),
                    "expected": answers,
                    "contexts": [context],
                    "metadata": {name: value for name, value in metadata.items() if value is not None},
                },
            )
