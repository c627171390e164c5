"""BEIR: `corpus.jsonl`, `queries.jsonl` and `qrels/<split>.tsv`. An example is a query that the split judges."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Protocol

from evalsvc.datasets.importers.lines import Readable, Record, read_lines, read_objects
from evalsvc.datasets.importers.locations import Refusals, SourceLocation

MAX_TEXT_CHARS = 1_000_000
CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
# A corpus can exceed the memory, so the data needed for lookups is written to a temporary file.
TABLES = """
PRAGMA journal_mode = OFF;
CREATE TABLE judgements (n INTEGER PRIMARY KEY, query TEXT, document TEXT, relevance INT, pointer TEXT, words TEXT);
CREATE UNIQUE INDEX by_query ON judgements (query, document);
CREATE TABLE documents (id TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
CREATE TABLE queries (id TEXT PRIMARY KEY, text TEXT, metadata TEXT) WITHOUT ROWID;
"""
JUDGED = """
SELECT j.document, j.relevance, d.text FROM judgements j LEFT JOIN documents d ON d.id = j.document
WHERE j.query = ? ORDER BY j.n
"""
BY_QUERY = """
SELECT j.query, j.pointer, j.words, q.text, q.metadata
FROM (SELECT query, min(n) AS n FROM judgements GROUP BY query) AS first JOIN judgements j ON j.n = first.n
LEFT JOIN queries q ON q.id = j.query ORDER BY j.n
"""


class Folder(Protocol):
    """The files of a BEIR data set, from an archive or from an upload of several files."""

    def names(self) -> Sequence[str]:
        """Return their paths."""

    def open(self, name: str) -> Readable:
        """Open one."""


def read_beir(folder: Folder, refusals: Refusals, *, split: str) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield an example for each judged query, in the order of the judgements.

    `expected` contains the relevant documents as `gold_contexts`, in descending order of relevance, with id, relevance
    and text, so that retrieved documents can be matched by id or by text. Judged documents that are not relevant, or
    that are missing from the corpus, are listed in the metadata.
    """
    judgements, queries, corpus = find_files(folder, refusals, split)
    with closing(sqlite3.connect("", isolation_level=None)) as index:
        index.executescript(TABLES)
        index.execute("BEGIN")
        read_judgements(index, folder.open(judgements), refusals, name=judgements)
        read_queries(index, folder.open(queries), refusals, name=queries)
        refusals.raise_if_any()
        index.execute("CREATE INDEX by_document ON judgements (document)")
        read_corpus(index, folder.open(corpus), refusals, name=corpus)
        for query, pointer, words, text, metadata in index.execute(BY_QUERY):
            if text is None:
                refusals.add(SourceLocation(pointer, words), f"No query has the id {query!r}.", "query-id")
            else:
                yield SourceLocation(pointer, words), as_record(index, query, text, json.loads(metadata))


def find_files(folder: Folder, refusals: Refusals, split: str) -> tuple[str, str, str]:
    """Return the paths of judgements, queries and corpus, the outermost if there are several."""
    names = sorted(folder.names(), key=lambda name: name.count("/"))
    files = []
    for wanted_file in (f"{split}.tsv", QUERIES, CORPUS):
        name = next((name for name in names if name.rpartition("/")[2] == wanted_file), None)
        if name is None:
            names_text = ", ".join(name[:60] for name in names[:10]) or "nothing"
            raise refusals.stop(
                SourceLocation("/file", "The data set"), f"`{wanted_file}` is not in it; it holds {names_text}."
            )
        files.append(name)
    return files[0], files[1], files[2]


def read_judgements(index: sqlite3.Connection, file: Readable, refusals: Refusals, *, name: str) -> None:
    """Note which documents each query was judged with; a first line without a number is the header."""
    for location, text in read_lines(file, refusals, of=f"/file/{name}", name=name):
        cells = text.strip("\r\n").split("\t")
        if cells == [""]:
            continue
        if len(cells) != 3:
            refusals.add(location, f"Has {len(cells)} columns; expected query-id, corpus-id and score.")
            continue
        query, document, score = cells
        if not is_integer(score):
            if not location.pointer.endswith("/line/1"):
                refusals.add(location, "`score` must be an integer.", "score")
            continue
        values = (query, document, int(score), location.pointer, location.words)
        sql = "INSERT OR IGNORE INTO judgements (query, document, relevance, pointer, words) VALUES (?, ?, ?, ?, ?)"
        if not index.execute(sql, values).rowcount:
            refusals.add(location, f"Query {query!r} is judged twice with document {document!r}.", "corpus-id")


def is_integer(text: str) -> bool:
    """Return whether a score is one, and small enough for everyone."""
    return text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= 10


def read_queries(index: sqlite3.Connection, file: Readable, refusals: Refusals, *, name: str) -> None:
    """Note the text of each query that was judged."""
    for location, record in read_objects(file, refusals, of=f"/file/{name}", name=name):
        if not has_texts(location, record, refusals, "_id", "text"):
            continue
        if not index.execute("SELECT 1 FROM judgements WHERE query = ? LIMIT 1", (record["_id"],)).fetchone():
            continue
        metadata = record.get("metadata") or {}
        if not isinstance(metadata, dict):
            refusals.add(location, "`metadata` must be an object.", "metadata")
            continue
        values = (record["_id"], record["text"], json.dumps(metadata))
        if not index.execute("INSERT OR IGNORE INTO queries VALUES (?, ?, ?)", values).rowcount:
            refusals.add(location, f"Another query has the id {record['_id']!r}.", "_id")


def read_corpus(index: sqlite3.Connection, file: Readable, refusals: Refusals, *, name: str) -> None:
    """Note the text of each document that was judged; the others are not needed."""
    for location, record in read_objects(file, refusals, of=f"/file/{name}", name=name):
        if not has_texts(location, record, refusals, "_id", "text"):
            continue
        if not index.execute("SELECT 1 FROM judgements WHERE document = ? LIMIT 1", (record["_id"],)).fetchone():
            continue
        title = record.get("title")
        text = f"{title}\n{record['text']}" if isinstance(title, str) and title else record["text"]
        if not index.execute("INSERT OR IGNORE INTO documents VALUES (?, ?)", (record["_id"], text)).rowcount:
            refusals.add(location, f"Another document has the id {record['_id']!r}.", "_id")


def has_texts(location: SourceLocation, record: Record, refusals: Refusals, *fields: str) -> bool:
    """Return whether all fields are texts that can be looked up."""
    bad = [field for field in fields if not isinstance(record.get(field), str)]
    for field in bad:
        refusals.add(location, f"`{field}` must be a text.", field)
    return not bad


def as_record(index: sqlite3.Connection, query: str, text: str, metadata: Record) -> Record:
    """Put an example together."""
    judgements = index.execute(JUDGED, (query,)).fetchall()
    relevant = sorted((row for row in judgements if row[1] > 0), key=lambda row: -row[1])
    others = [document for document, relevance, _ in judgements if relevance <= 0]
    missing = [document for document, _, document_text in judgements if document_text is None]
    return {
        "id": query,
        "input": text,
        "expected": {"gold_contexts": list(relevant_passages(relevant))},
        "metadata": metadata
        | ({"not_relevant": others} if others else {})
        | ({"not_in_corpus": missing} if missing else {}),
    }


def relevant_passages(relevant: Sequence[tuple[str, int, str | None]]) -> Iterator[Record]:
    """Yield documents with their texts, as far as these fit in a row; the others are known by their ids."""
    n_chars = 0
    for document, relevance, text in relevant:
        n_chars += len(text or "")
        has_text = text and n_chars <= MAX_TEXT_CHARS
        yield {"id": document, "relevance": relevance} | ({"text": text} if has_text else {})
