"""BEIR: `corpus.jsonl`, `queries.jsonl` and `qrels/<split>.tsv`. An example is a query that the split judges."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Protocol

from evalsvc.datasets.importers.formats.trec import (
    QUERIES_TSV,
    FileNames,
    find_qrels,
    find_run,
    read_grade,
    split_judgement,
    split_run_line,
)
from evalsvc.datasets.importers.lines import Readable, Record, read_lines, read_objects
from evalsvc.datasets.importers.locations import Refusals, SourceLocation

MAX_TEXT_CHARS = 1_000_000
IGNORED_DOCUMENTS = "ignored_documents"
"""The key of the metadata for documents that do not count where a system retrieves them."""
CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
# A corpus can exceed the memory, so the data needed for lookups is written to a temporary file.
TABLES = """
PRAGMA journal_mode = OFF;
CREATE TABLE judgements (n INTEGER PRIMARY KEY, query TEXT, document TEXT, relevance NUMERIC, pointer TEXT, words TEXT);
CREATE UNIQUE INDEX by_query ON judgements (query, document);
CREATE TABLE documents (id TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
CREATE TABLE queries (id TEXT PRIMARY KEY, text TEXT, metadata TEXT) WITHOUT ROWID;
CREATE TABLE retrieved (query TEXT, document TEXT, score REAL, PRIMARY KEY (query, document)) WITHOUT ROWID;
CREATE TABLE own_documents (id TEXT PRIMARY KEY) WITHOUT ROWID;
"""
JUDGED = """
SELECT j.document, j.relevance, d.text FROM judgements j LEFT JOIN documents d ON d.id = j.document
WHERE j.query = ? ORDER BY j.n
"""
IS_JUDGED = "SELECT 1 FROM judgements WHERE query = ? LIMIT 1"
ENTRIES = {
    QUERIES: ("INSERT OR IGNORE INTO queries VALUES (?, ?, ?)", "SELECT * FROM queries WHERE id = ?"),
    CORPUS: ("INSERT OR IGNORE INTO documents VALUES (?, ?)", "SELECT * FROM documents WHERE id = ?"),
}
# trec_eval orders by score, not by the ranks of the file, and equal scores by the id, the last one first.
RETRIEVED = "SELECT document, score FROM retrieved WHERE query = ? ORDER BY score DESC, document DESC LIMIT ?"
MAX_RETRIEVED = 1000
"""Retrieved documents of a query: as deep as trec_eval looks."""
IS_OWN = "SELECT 1 FROM own_documents WHERE id = ?"
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
    that are missing from the corpus, are listed in the metadata, as is a document that has the id of its query: BEIR's
    own evaluation (`ignore_identical_ids`) leaves it out of what a system retrieves.
    """
    files = find_files(folder, refusals, split)
    with closing(sqlite3.connect("", isolation_level=None)) as index:
        index.executescript(TABLES)
        index.execute("BEGIN")
        read_judgements(index, folder.open(files.judgements), refusals, name=files.judgements)
        if files.queries and files.queries.endswith(".tsv"):
            read_topics(index, folder.open(files.queries), refusals, name=files.queries)
        elif files.queries:
            read_queries(index, folder.open(files.queries), refusals, name=files.queries)
        refusals.raise_if_any()
        index.execute("CREATE INDEX by_document ON judgements (document)")
        if files.corpus:
            read_corpus(index, folder.open(files.corpus), refusals, name=files.corpus)
        if files.run:
            read_run(index, folder.open(files.run), refusals, name=files.run)
        for query, pointer, words, text, metadata in index.execute(BY_QUERY):
            if text is None and files.queries:
                refusals.add(SourceLocation(pointer, words), f"No query has the id {query!r}.", "query-id")
                continue
            known = {"has_no_text": True} if text is None else json.loads(metadata)
            record = as_record(index, query, text or query, known, has_corpus=files.corpus is not None)
            if files.run:
                found = index.execute(RETRIEVED, (query, MAX_RETRIEVED))
                record["contexts"] = [{"id": document, "score": score} for document, score in found]
            yield SourceLocation(pointer, words), record


def find_files(folder: Folder, refusals: Refusals, split: str) -> FileNames:
    """Return the paths of the files, the outermost if there are several. TREC's judgements may stand alone."""
    names = sorted(folder.names(), key=lambda name: name.count("/"))

    def find(*wanted: str) -> str | None:
        return next((name for file in wanted for name in names if name.rpartition("/")[2] == file), None)

    run = find_run(names)
    others = [name for name in names if name != run]
    wanted_files = (f"{split}.tsv", QUERIES, CORPUS)
    found = find(f"{split}.tsv"), find(QUERIES, *QUERIES_TSV), find(CORPUS)
    qrels = find_qrels(others)
    if found[0] is None and qrels is not None:
        return FileNames(qrels, found[1], found[2], run)
    for wanted_file, name in zip(wanted_files, found, strict=True):
        if name is None:
            names_text = ", ".join(name[:60] for name in names[:10]) or "nothing"
            raise refusals.stop(
                SourceLocation("/file", "The data set"), f"`{wanted_file}` is not in it; it holds {names_text}."
            )
    return FileNames(str(found[0]), found[1], found[2], run)


def read_judgements(index: sqlite3.Connection, file: Readable, refusals: Refusals, *, name: str) -> None:
    """Note which documents each query was judged with; a first line without a number is the header.

    The same judgement twice counts once, as in trec_eval and BEIR; two grades of one document are refused.
    """
    for location, text in read_lines(file, refusals, of=f"/file/{name}", name=name):
        if not text.strip():
            continue
        cells = split_judgement(text)
        if len(cells) != 3:
            refusals.add(location, f"Has {len(cells)} columns; expected query-id, corpus-id and score.")
            continue
        query, document, score = cells
        grade = read_grade(score)
        if grade is None:
            if not location.pointer.endswith("/line/1"):
                refusals.add(location, "`score` must be a number of at most 9 digits.", "score")
            continue
        values = (query, document, grade, location.pointer, location.words)
        sql = "INSERT OR IGNORE INTO judgements (query, document, relevance, pointer, words) VALUES (?, ?, ?, ?, ?)"
        if not index.execute(sql, values).rowcount and grade != find_grade(index, query, document):
            detail = f"Query {query!r} is judged twice with document {document!r}, with different grades."
            refusals.add(location, detail, "corpus-id")


def find_grade(index: sqlite3.Connection, query: str, document: str) -> int | float:
    """Return the grade that was noted first."""
    sql = "SELECT relevance FROM judgements WHERE query = ? AND document = ?"
    grade: int | float = index.execute(sql, (query, document)).fetchone()[0]
    return grade


def read_queries(index: sqlite3.Connection, file: Readable, refusals: Refusals, *, name: str) -> None:
    """Note the text of each query that was judged. A query without a text is known by its title, else by its id."""
    for location, record in read_objects(file, refusals, of=f"/file/{name}", name=name):
        if (found := read_entry(location, record, refusals)) is None:
            continue
        query, text = found
        if not index.execute(IS_JUDGED, (query,)).fetchone():
            continue
        metadata = record.get("metadata") or {}
        if not isinstance(metadata, dict):
            refusals.add(location, "`metadata` must be an object.", "metadata")
            continue
        if not text:
            title = record.get("title")
            text, metadata = (title if isinstance(title, str) and title else query), {**metadata, "has_no_text": True}
        values = (query, text, json.dumps(metadata))
        if not insert_entry(index, QUERIES, values):
            refusals.add(location, f"Another query has the id {query!r}.", "_id")


def read_topics(index: sqlite3.Connection, file: Readable, refusals: Refusals, *, name: str) -> None:
    """Note the text of each query that was judged, of lines with an id, a tab and the text."""
    for location, line in read_lines(file, refusals, of=f"/file/{name}", name=name):
        query, tab, text = line.strip("\r\n").partition("\t")
        if not line.strip() or not index.execute(IS_JUDGED, (query,)).fetchone():
            continue
        if not tab:
            refusals.add(location, "Expected an id, a tab and the text of a query.")
        elif not insert_entry(index, QUERIES, (query, text, "{}")):
            refusals.add(location, f"Another query has the id {query!r}.", "_id")


def read_run(index: sqlite3.Connection, file: Readable, refusals: Refusals, *, name: str) -> None:
    """Note which documents a system retrieved for each query."""
    for location, line in read_lines(file, refusals, of=f"/file/{name}", name=name):
        if not line.strip():
            continue
        if (values := split_run_line(line)) is None:
            refusals.add(location, "Expected `query Q0 document rank score tag`.")
        elif not index.execute("INSERT OR IGNORE INTO retrieved VALUES (?, ?, ?)", values).rowcount:
            refusals.add(location, f"Document {values[1]!r} is retrieved twice for query {values[0]!r}.")


def read_corpus(index: sqlite3.Connection, file: Readable, refusals: Refusals, *, name: str) -> None:
    """Note the text of each document that was judged, and which documents have the id of a query."""
    for location, record in read_objects(file, refusals, of=f"/file/{name}", name=name):
        if (found := read_entry(location, record, refusals)) is None:
            continue
        document, text = found
        if index.execute("SELECT 1 FROM queries WHERE id = ?", (document,)).fetchone():
            index.execute("INSERT OR IGNORE INTO own_documents VALUES (?)", (document,))
        if not index.execute("SELECT 1 FROM judgements WHERE document = ? LIMIT 1", (document,)).fetchone():
            continue
        title = record.get("title")
        text = f"{title}\n{text}" if isinstance(title, str) and title else text
        if not insert_entry(index, CORPUS, (document, text)):
            refusals.add(location, f"Another document has the id {document!r}.", "_id")


def read_entry(location: SourceLocation, record: Record, refusals: Refusals) -> tuple[str, str] | None:
    """Return id and text of a query or a document; None after noting what is wrong. The id may be an integer."""
    name, text = record.get("_id"), record.get("text")
    if type(name) is int:
        name = str(name)
    if not isinstance(name, str) or not name:
        refusals.add(location, "`_id` must be a text or an integer.", "_id")
        return None
    if text is not None and not isinstance(text, str):
        refusals.add(location, "`text` must be a text.", "text")
        return None
    return name, text or ""


def insert_entry(index: sqlite3.Connection, kind: str, values: tuple[str, ...]) -> bool:
    """Insert a query or a document. Return False where another one has its id; the same one twice counts once."""
    insert, find = ENTRIES[kind]
    if index.execute(insert, values).rowcount:
        return True
    return bool(index.execute(find, values[:1]).fetchone() == values)


def as_record(index: sqlite3.Connection, query: str, text: str, metadata: Record, *, has_corpus: bool) -> Record:
    """Put an example together."""
    judgements = index.execute(JUDGED, (query,)).fetchall()
    relevant = sorted((row for row in judgements if row[1] > 0), key=lambda row: -row[1])
    others = [document for document, relevance, _ in judgements if relevance <= 0]
    missing = [document for document, _, document_text in judgements if document_text is None and has_corpus]
    is_own = query not in {document for document, _, _ in relevant} and index.execute(IS_OWN, (query,)).fetchone()
    return {
        "id": query,
        "input": text,
        "expected": {"gold_contexts": list(relevant_passages(relevant))},
        "metadata": metadata
        | ({"not_relevant": others} if others else {})
        | ({"not_in_corpus": missing} if missing else {})
        | ({IGNORED_DOCUMENTS: [query]} if is_own else {}),
    }


def relevant_passages(relevant: Sequence[tuple[str, float, str | None]]) -> Iterator[Record]:
    """Yield documents with their texts, as far as these fit in a row; the others are known by their ids."""
    n_chars = 0
    for document, relevance, text in relevant:
        n_chars += len(text or "")
        has_text = text and n_chars <= MAX_TEXT_CHARS
        yield {"id": document, "relevance": relevance} | ({"text": text} if has_text else {})
