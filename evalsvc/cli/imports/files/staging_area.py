"""Disk storage for records until all files are checked. The file is unnamed, so that a killed command leaves none."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalsvc.cli.imports.files.values import InvalidRecord, Place

JsonRow = dict[str, object]
TABLES = """
CREATE TABLE scores (
  id INTEGER PRIMARY KEY, key TEXT UNIQUE, body TEXT, refs TEXT, is_empty INTEGER, file TEXT, line INTEGER
);
CREATE TABLE texts (key TEXT PRIMARY KEY, body TEXT, file TEXT, line INTEGER);
CREATE TABLE examples (
  id INTEGER PRIMARY KEY, dataset TEXT, key TEXT, body TEXT, file TEXT, line INTEGER, UNIQUE (dataset, key)
);
"""
SAME = {
    "scores": "SELECT body, file, line FROM scores WHERE key = ?",
    "texts": "SELECT body, file, line FROM texts WHERE key = ?",
    "examples": "SELECT body, file, line FROM examples WHERE dataset = ? AND key = ?",
}


@dataclass(frozen=True, slots=True)
class StagedRow:
    """A row as it is sent, and the places of its score and its texts in the files."""

    row: JsonRow
    place: Place
    text_place: Place | None
    n_chars: int
    """Of the row as JSON, nearly."""


class Staging:
    """Scores, the texts that they are of, and examples of datasets, each under its own key."""

    def __init__(self) -> None:
        # SQLite unlinks an unnamed database as soon as it is opened, and caches two megabytes of it in memory.
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {TABLES}")

    def close(self) -> None:
        """Drop all of it."""
        self._db.close()

    def add_score(self, key: str, row: Mapping[str, object], refs: Sequence[str], place: Place) -> bool:
        """Add a score, and return whether it is new. `refs` are the keys of its texts, the best first.

        Raises InvalidRecord if another score has the key. A score without a verdict is only counted.
        """
        is_empty = not {"score_raw", "pass", "text_output"} & row.keys()
        body = _body(row)
        added = self._db.execute(
            "INSERT OR IGNORE INTO scores (key, body, refs, is_empty, file, line) VALUES (?, ?, ?, ?, ?, ?)",
            (key, body, json.dumps(refs), is_empty, place.file, place.line),
        )
        return added.rowcount == 1 or self._same("scores", (key,), body)

    def add_texts(self, key: str, texts: Mapping[str, object], place: Place, *, is_first_enough: bool = False) -> bool:
        """Add the texts of a trace, span or sample, and return whether they are new. Raises InvalidRecord as above."""
        body = _body(texts)
        added = self._db.execute(
            "INSERT OR IGNORE INTO texts (key, body, file, line) VALUES (?, ?, ?, ?)",
            (key, body, place.file, place.line),
        )
        return added.rowcount == 1 or is_first_enough or self._same("texts", (key,), body)

    def add_example(self, dataset: str, key: str, example: Mapping[str, object], place: Place) -> bool:
        """Add an example of a dataset, and return whether it is new. Raises InvalidRecord as above."""
        body = _body(example)
        added = self._db.execute(
            "INSERT OR IGNORE INTO examples (dataset, key, body, file, line) VALUES (?, ?, ?, ?, ?)",
            (dataset, key, body, place.file, place.line),
        )
        return added.rowcount == 1 or self._same("examples", (dataset, key), body)

    def _same(self, table: str, key: tuple[str, ...], body: str) -> bool:
        """Return False for a repeated record; raise Broken for another one of the same id."""
        stored_body, file, line = self._db.execute(SAME[table], key).fetchone()
        if stored_body != body:
            id = key[-1] if table == "examples" else key[0].partition(":")[2]
            raise InvalidRecord("id", f"{Place(file, line)} has the same id {id!r}, and other contents.")
        return False

    def rows(self) -> Iterator[StagedRow]:
        """Yield the scores that are one, in the order of the files, each with its texts."""
        query = "SELECT body, refs, file, line FROM scores WHERE NOT is_empty ORDER BY id"
        for body, refs, file, line in self._db.execute(query):
            texts, text_place = self._texts(json.loads(refs))
            row = json.loads(texts) | json.loads(body)
            yield StagedRow(row, Place(file, line), text_place, len(texts) + len(body))

    def _texts(self, refs: Sequence[str]) -> tuple[str, Place | None]:
        for key in refs:
            row = self._db.execute("SELECT body, file, line FROM texts WHERE key = ?", (key,)).fetchone()
            if row:
                return row[0], Place(*row[1:])
        return "{}", None

    def place_of(self, key: str) -> Place:
        return Place(*self._db.execute("SELECT file, line FROM scores WHERE key = ?", (key,)).fetchone())

    def leave_out(self, key: str) -> None:
        """Take a score out again."""
        self._db.execute("DELETE FROM scores WHERE key = ?", (key,))

    def count(self, what: str) -> int:
        """Count `scores` that are one, those that are `empty`, `texts` or `examples`."""
        query = {
            "scores": "SELECT count(*) FROM scores WHERE NOT is_empty",
            "empty": "SELECT count(*) FROM scores WHERE is_empty",
            "texts": "SELECT count(*) FROM texts",
            "examples": "SELECT count(*) FROM examples",
        }[what]
        return int(self._db.execute(query).fetchone()[0])

    def datasets(self) -> list[tuple[str, int]]:
        """Return the datasets, and how many examples each has."""
        return list(self._db.execute("SELECT dataset, count(*) FROM examples GROUP BY dataset ORDER BY min(id)"))

    def examples(self, dataset: str) -> Iterator[str]:
        """Yield the examples of a dataset as JSON, in the order of the files."""
        for (body,) in self._db.execute("SELECT body FROM examples WHERE dataset = ? ORDER BY id", (dataset,)):
            yield body


def _body(row: Mapping[str, object]) -> str:
    text = json.dumps(row, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidRecord("", "It holds half of a character (a surrogate), which no text can.") from None
    return text
