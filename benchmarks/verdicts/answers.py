"""Labelled answers and contexts: support, relevance, sufficiency."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import contrast
from benchmarks.short_answers import HELD_APART, Pair
from benchmarks.short_answers import TUNED as LOOKED_AT
from benchmarks.verdicts.rows import (
    APART,
    TUNED,
    LabelledSet,
    Probe,
    Reader,
    answer,
    claimed,
    drawn,
    found,
    read_lines,
)
from evaluators.base import Passage, Sample
from evaluators.grounding.sentences import split_sentences

HALLUCINATION = ("retrieval-hallucination",)
ANSWERING = ("retrieval-answer-relevance",)
SPEAKING = ("retrieval-context-relevance",)
SUFFICING = ("retrieval-context-sufficiency",)
PAIRS = (*LOOKED_AT, *HELD_APART)
SHORTEST_QUESTION = 5
BEGIN = "begin_wow_dev"


def supported(name: str, title: str, about: str) -> Reader:
    """Return the reader of a set of outputs that contexts support or do not."""

    def read(folder: Path, per_class: int | None) -> LabelledSet:
        rows = [
            claimed(row["input"] or "", _texts(row["context"]), row["output"], is_good=not row["label"])
            for row in read_lines(folder, name)
        ]
        return LabelledSet(title, about, HALLUCINATION, (f"{name}.jsonl.gz",), TUNED, drawn(rows, per_class))

    return read


def short_answers(title: str, seen: str, pairs: Sequence[Pair]) -> Reader:
    """Return the reader of right and wrong answers to questions about passages."""

    def read(folder: Path, per_class: int | None) -> LabelledSet:
        rows = [
            claimed(pair.question, (pair.passage,), text, is_good=text == pair.right)
            for pair in pairs
            for text in (pair.right, pair.wrong)
        ]
        about = "Right and wrong short answers about invented passages; most wrong ones are words of the passage."
        return LabelledSet(title, about, HALLUCINATION, (), seen, tuple(rows))

    return read


def sentences_that_answer(folder: Path, per_class: int | None) -> LabelledSet:
    """The one sentence of a passage that answers a question, and the others."""
    rows = [
        answer(pair.question, text, is_good=_has(text, pair), source=pair.passage)
        for pair in PAIRS
        if sum(_has(text, pair) for text in _sentences(pair)) == 1
        for text in _sentences(pair)
    ]
    about = "The sentence of an invented passage that answers a question, against its other sentences."
    return LabelledSet("sentences of one passage (constructed)", about, ANSWERING, (), TUNED, tuple(rows))


def bare_answers(folder: Path, per_class: int | None) -> LabelledSet:
    """The right answer in a few words, and that to another question."""
    rng = random.Random(0)
    rows = [
        answer(pair.question, text, is_good=is_good, source=pair.passage)
        for pair in PAIRS
        for text, is_good in ((pair.right, True), (rng.choice(PAIRS).right, False))
    ]
    about = "The right answer in a few words, against the answer to another question."
    return LabelledSet("bare answers (constructed)", about, ANSWERING, (), TUNED, tuple(rows))


def turns_of_talk(folder: Path, per_class: int | None) -> LabelledSet:
    """What was said to a question in a dialogue, and what was said to another."""
    asked, rng = _asked(folder), random.Random(0)
    rows = [
        answer(question, text, is_good=is_good, source=question)
        for question, row in asked
        for text, is_good in ((row["output"], True), (rng.choice(asked)[1]["output"], False))
    ]
    about = "The next turn of a dialogue after a question, against that after another question."
    return LabelledSet("turns of talk (BEGIN)", about, ANSWERING, (f"{BEGIN}.jsonl.gz",), TUNED, tuple(rows))


def passages(folder: Path, per_class: int | None) -> LabelledSet:
    """Whether a passage is the one that was asked about."""
    rng = random.Random(0)
    rows = [
        found(pair.question, (passage,), is_good=is_good, source=pair.passage)
        for pair in PAIRS
        for passage, is_good in ((pair.passage, True), (_other_passage(pair, rng), False))
    ]
    about = "The invented passage that a question is about, against another passage."
    return LabelledSet("passages (constructed)", about, SPEAKING, (), APART, tuple(rows))


def knowledge_of_talk(folder: Path, per_class: int | None) -> LabelledSet:
    """Whether the knowledge beside a dialogue is that of its question."""
    asked, rng = _asked(folder), random.Random(0)
    rows = [
        found(question, _texts(shown["context"]), is_good=shown is row, source="\n".join(_texts(row["context"])))
        for question, row in asked
        for shown in (row, rng.choice([other for _, other in asked if other["context"] != row["context"]]))
    ]
    about = "The knowledge that a turn of dialogue was written from, against that of another turn."
    return LabelledSet("knowledge of dialogue (BEGIN)", about, SPEAKING, (f"{BEGIN}.jsonl.gz",), APART, tuple(rows))


def answering_passages(title: str, about: str, *, with_gold: bool) -> Reader:
    """Return the reader of passages with and without the one sentence that answers."""

    def read(folder: Path, per_class: int | None) -> LabelledSet:
        rows = [
            found(
                pair.question,
                (" ".join(text for text in _sentences(pair) if is_whole or not _has(text, pair)),),
                is_good=is_whole,
                source=pair.passage,
                gold=pair.right if with_gold else None,
            )
            for pair in PAIRS
            if len(_sentences(pair)) > 1 and sum(_has(text, pair) for text in _sentences(pair)) == 1
            for is_whole in (True, False)
        ]
        return LabelledSet(title, about, SUFFICING, (), TUNED, tuple(rows))

    return read


READERS: tuple[Reader, ...] = (
    supported(BEGIN, "dialogue (BEGIN)", "Answers of dialogue models, by whether the knowledge shown supports them."),
    supported(
        "wice_dev", "claims from articles (WiCE)", "Claims of articles, by whether the cited page supports all of it."
    ),
    short_answers("short answers (constructed)", TUNED, LOOKED_AT),
    short_answers("short answers, held apart (constructed)", APART, HELD_APART),
    sentences_that_answer,
    bare_answers,
    turns_of_talk,
    passages,
    knowledge_of_talk,
    answering_passages(
        "passages without a gold answer (constructed)",
        "Invented passages with and without the sentence that answers, and no gold answer.",
        with_gold=False,
    ),
    answering_passages(
        "passages with a gold answer (constructed)",
        "Invented passages with and without the sentence that answers, and the gold answer.",
        with_gold=True,
    ),
)


def probes(folder: Path) -> Iterator[Probe]:
    """Yield the contrast suite: sentences copied from their contexts, and what was changed in them."""
    for source, copies in contrast.sources(folder).items():
        for name, edit in {**contrast.RIGHT, **contrast.WRONG}.items():
            made = [(each, edit(each.text, each.told, random.Random(i))) for i, each in enumerate(copies)]
            samples = [
                Sample(input="", output=text, contexts=tuple(map(Passage, each.contexts)))
                for each, text in made
                if text is not None
            ]
            about = f"A sentence copied from its context ({source}): {name}"
            if samples:
                yield Probe(f"{source}: {name}", about, HALLUCINATION, name in contrast.RIGHT, tuple(samples))


def _texts(contexts: str | Sequence[str]) -> tuple[str, ...]:
    return (contexts,) if isinstance(contexts, str) else tuple(contexts)


def _sentences(pair: Pair) -> list[str]:
    return [pair.passage[start:end] for start, end in split_sentences(pair.passage)]


def _has(text: str, pair: Pair) -> bool:
    return pair.right.lower() in text.lower()


def _other_passage(pair: Pair, rng: random.Random) -> str:
    return rng.choice([other.passage for other in PAIRS if other.passage != pair.passage])


def _asked(folder: Path) -> list[tuple[str, dict[str, object]]]:
    """Return the questions of a dialogue that end a turn, each with its row."""
    rows = [row for row in read_lines(folder, BEGIN) if row["input"].strip().endswith("?")]
    ends = [(split_sentences(row["input"])[-1], row) for row in rows]
    asked = [(row["input"][start:end], row) for (start, end), row in ends]
    return [(question, row) for question, row in asked if len(question.split()) >= SHORTEST_QUESTION]
