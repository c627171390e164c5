"""Labelled rows: what is scored, whether it is good, and which source it shares with other rows."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evaluators.base import AnswerText, Passage, Sample

TRAINED, SAME_SOURCE, TUNED, APART = "trained", "same source", "tuned", "apart"
SEEN = {
    TRAINED: "the shipped model was trained on these rows, so its figures flatter",
    SAME_SOURCE: "other rows of sources that a model was trained on, so its figures flatter a little",
    TUNED: "rules or constants were chosen with an eye on this set, so its figures flatter a little",
    APART: "neither trained on nor looked at for rules and constants",
}


class Row(NamedTuple):
    """A sample and whether it is good. Rows of one `source` are not independent of each other."""

    sample: Sample
    is_good: bool
    source: str


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A named set for the evaluators of these stems (ids without their date); `files` are what it was made from."""

    name: str
    about: str
    stems: tuple[str, ...]
    files: tuple[str, ...]
    seen: str
    rows: tuple[Row, ...]

    @property
    def digest(self) -> str:
        """Tell this very content from any other."""
        return hashlib.sha256(repr(self.rows).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Probe:
    """Samples of one kind; told is the share of them that passes, beside whether they should."""

    name: str
    about: str
    stems: tuple[str, ...]
    should_pass: bool
    samples: tuple[Sample, ...]


def read_lines(folder: Path, name: str) -> list[dict[str, Any]]:
    """Read a development set of JSON lines."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def said(text: str, *, is_good: bool, source: str | None = None) -> Row:
    """Make a row of an output alone."""
    return Row(Sample(output=text), is_good, source if source is not None else text)


def answer(question: str, text: str, *, is_good: bool, source: str) -> Row:
    """Make a row of a question and what was answered."""
    return Row(Sample(input=question, output=text), is_good, source)


def found(question: str, contexts: Iterable[str], *, is_good: bool, source: str, gold: str | None = None) -> Row:
    """Make a row of a question and what was retrieved."""
    golds = None if gold is None else (AnswerText(gold),)
    return Row(Sample(input=question, contexts=tuple(map(Passage, contexts)), golds=golds), is_good, source)


def claimed(question: str, contexts: Iterable[str], text: str, *, is_good: bool) -> Row:
    """Make a row of an output and the contexts that should support it."""
    texts = tuple(contexts)
    return Row(Sample(question, text, tuple(map(Passage, texts))), is_good, "\n".join(texts))


def drawn(rows: Sequence[Row], per_class: int | None) -> tuple[Row, ...]:
    """Draw as many rows of each class at most, the same ones each time, and keep their order."""
    if per_class is None:
        return tuple(rows)
    chosen: set[int] = set()
    for wanted in (True, False):
        of_class = [index for index, row in enumerate(rows) if row.is_good is wanted]
        chosen.update(random.Random(0).sample(of_class, min(per_class, len(of_class))))
    return tuple([rows[index] for index in sorted(chosen)])


Reader = Callable[[Path, int | None], LabelledSet]
