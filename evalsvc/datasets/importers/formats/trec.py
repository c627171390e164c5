"""TREC's files: judgements (qrels), runs and topics, in columns with spaces or tabs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

QUERIES_TSV = ("queries.tsv", "topics.tsv")
_grade = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
_qrels = re.compile(rb"\s*\S+[ \t]+Q?[0-9]+[ \t]+\S+[ \t]+-?[0-9]+(\.[0-9]+)?[ \t]*(\r?\n|\Z)")


@dataclass(frozen=True, slots=True)
class FileNames:
    """The paths of a data set's files, None where it has no such file."""

    judgements: str
    queries: str | None
    corpus: str | None
    run: str | None


def is_qrels(head: bytes) -> bool:
    """Return whether a file begins with a judgement of TREC: query, iteration, document and grade."""
    return _qrels.match(head) is not None


def find_qrels(names: Sequence[str]) -> str | None:
    """Return the first path that names judgements: `qrels.txt`, `dl19.qrels`, `qrels/test.txt`.

    Of BEIR's folder `qrels` with a file for each split, the split is the caller's choice, and none is taken here.
    """
    for name in names:
        folder, _, file = name.lower().rpartition("/")
        if "qrels" in file or (folder.endswith("qrels") and not file.endswith(".tsv")):
            return name
    return None


def find_run(names: Sequence[str]) -> str | None:
    """Return the first path that names a run: `run.txt`, `bm25.run`, `runs/bm25.trec`."""
    return next((name for name in names if re.search(r"(^|[/._-])runs?([/._-]|$)", name.lower())), None)


def split_judgement(line: str) -> list[str]:
    """Return query, document and grade: BEIR's three columns with tabs, or TREC's four with spaces or tabs."""
    cells = line.strip("\r\n").split("\t")
    trec = line.split()
    return [trec[0], *trec[2:]] if len(cells) != 3 and len(trec) == 4 else cells


def read_grade(text: str) -> int | float | None:
    """Return a grade, a whole one as an integer; None for what is no grade."""
    if _grade.fullmatch(text.strip()) is None:
        return None
    grade = float(text)
    return int(grade) if grade.is_integer() else grade


def split_run_line(line: str) -> tuple[str, str, float] | None:
    """Return query, document and score of a line `query Q0 document rank score tag`; None for any other line."""
    cells = line.split()
    if len(cells) not in (5, 6):
        return None
    try:
        score = float(cells[4])
    except ValueError:
        return None
    return (cells[0], cells[2], score) if math.isfinite(score) else None
