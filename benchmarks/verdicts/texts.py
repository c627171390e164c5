"""Labelled outputs: offensive language, health, personal data."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.personal_data import drawn as drawn_sentences
from benchmarks.personal_data import named_by_origin, nameless_words
from benchmarks.rules import STRUCTURED, holds_kinds
from benchmarks.verdicts.rows import (
    APART,
    SAME_SOURCE,
    TRAINED,
    TUNED,
    LabelledSet,
    Probe,
    Reader,
    drawn,
    read_lines,
    said,
)
from evaluators.base import Sample
from tests.evaluators import phi_examples, toxicity_examples, toxicity_functional

SENTENCES = 40
"""Of each language and kind of personal data."""
BROAD = STRUCTURED | {"PERSON", "ADDRESS"}
DOCUMENTS = "presidio_generated_large.json.gz"


def texts_of_the_head(folder: Path) -> set[str]:
    """Return the texts that the head of toxicity was trained on, by drawing them as its training does."""
    from training.toxicity import PARTS, SEED

    draw, chosen = random.Random(SEED), set()
    for name, n_clean, n_bad in PARTS:
        every = read_lines(folder, name)
        for label, number in ((0, n_clean), (1, n_bad)):
            chosen.update(draw.sample([row["output"] for row in every if row["label"] == label], number))
    return chosen


def unseen(folder: Path, name: str, label: int, known: set[str]) -> list[str]:
    """Return the texts of a set and class that are not known."""
    return [row["output"] for row in read_lines(folder, name) if row["label"] == label and row["output"] not in known]


def tweets(folder: Path, per_class: int | None) -> LabelledSet:
    """Tweets, offensive or not."""
    rows = [said(row["output"], is_good=not row["label"]) for row in read_lines(folder, "davidson_train")]
    return LabelledSet(
        "tweets (Davidson)",
        "Tweets that annotators called hateful or offensive against the others, as many of each.",
        *(("toxicity",), ("davidson_train.jsonl.gz",), TRAINED, drawn(rows, per_class)),
    )


def comments(folder: Path, per_class: int | None) -> LabelledSet:
    """Toxic comments on news against talk of volunteers."""
    known = texts_of_the_head(folder)
    rows = [said(text, is_good=True) for text in unseen(folder, "cat_gn", 0, known)]
    rows += [said(text, is_good=False) for text in unseen(folder, "toxicspans_train", 1, known)]
    return LabelledSet(
        "comments (toxic spans, CAT)",
        "Comments with a toxic passage against harmless talk on the web, as many of each.",
        *(("toxicity",), ("toxicspans_train.jsonl.gz", "cat_gn.jsonl.gz"), SAME_SOURCE, drawn(rows, per_class)),
    )


def insults(folder: Path, per_class: int | None) -> LabelledSet:
    """Constructed sentences with harmless frightening words, insults, and talk of groups."""
    good, bad = toxicity_examples.HARMLESS + toxicity_examples.GROUP_TALK, toxicity_examples.TOXIC
    rows = [said(text, is_good=True) for text in good]
    rows += [said(text, is_good=False) for text in bad + toxicity_examples.GROUP_HATE]
    return LabelledSet(
        "insults and frightening words (constructed)",
        "Mildly worded insults and contempt for groups, against harmless prompts with frightening words and harmless talk "
        "about groups.",
        *(("toxicity",), (), TUNED, tuple(rows)),
    )


def harmless_texts(folder: Path, per_class: int | None) -> LabelledSet:
    """Dialogue, articles, notes and abstracts, none of them offensive."""
    names = ("begin_wow_dev", "wice_dev", "phi_train")
    texts = [text for name in names for text in drawn_texts(folder, name, per_class)]
    return LabelledSet(
        "harmless dialogue, articles and notes",
        "Texts of three other sets, none of them offensive: only false alarms can be told.",
        *(("toxicity",), tuple(f"{name}.jsonl.gz" for name in names), TUNED),
        tuple([said(text, is_good=True) for text in texts]),
    )


def drawn_texts(folder: Path, name: str, per_class: int | None) -> list[str]:
    """Draw a third of as many outputs of a set."""
    texts = [row["output"] for row in read_lines(folder, name)]
    return random.Random(0).sample(texts, min(len(texts), max((per_class or 600) // 3, 1)))


def notes(folder: Path, per_class: int | None) -> LabelledSet:
    """Clinical notes and dialogues against abstracts and persons without health."""
    # A note and the dialogue that it sums up are neighbours in the file.
    rows = [
        said(row["output"], is_good=not row["label"], source=str(index // 2))
        for index, row in enumerate(read_lines(folder, "phi_train"))
    ]
    return LabelledSet(
        "clinical notes (MTS-Dialog) and others",
        "Clinical notes and dialogues against abstracts of studies and texts about persons without an illness.",
        *(("phi",), ("phi_train.jsonl.gz",), TRAINED, drawn(rows, per_class)),
    )


def health_sentences(folder: Path, per_class: int | None) -> LabelledSet:
    """Constructed sentences about somebody's health, about the same people, and about medicine."""
    rows = [said(text, is_good=False) for text in phi_examples.HEALTH]
    rows += [said(text, is_good=True) for text in [*phi_examples.PERSONS, *phi_examples.MEDICINE]]
    return LabelledSet(
        "somebody's health (constructed)",
        "Short sentences about somebody's health, against the same people without it and the same medicine without them.",
        *(("phi",), (), TUNED, tuple(rows)),
    )


def talk_without_health(folder: Path, per_class: int | None) -> LabelledSet:
    """Dialogue, articles and comments."""
    names = ("begin_wow_dev", "wice_dev", "toxicspans_train")
    texts = [text for name in names for text in drawn_texts(folder, name, per_class)]
    return LabelledSet(
        "dialogue, articles and comments",
        "Texts of three other sets, nearly all of them without health information: only false alarms can be told.",
        *(("phi",), tuple(f"{name}.jsonl.gz" for name in names), APART),
        tuple([said(text, is_good=True) for text in texts]),
    )


def documents(title: str, stem: str, kinds: set[str], seen: str) -> Reader:
    """Return the reader of the generated documents that holds those with these kinds for bad."""

    def read(folder: Path, per_class: int | None) -> LabelledSet:
        with gzip.open(folder / DOCUMENTS, "rt", encoding="utf-8") as file:
            every = json.load(file)
        rows = [
            said(
                row["full_text"],
                is_good=not holds_kinds(row, kinds),
                source=str(row.get("template_id", row["full_text"])),
            )
            for row in every
        ]
        return LabelledSet(
            title,
            "Generated documents, with personal data of the kinds that the evaluator looks for or without any.",
            *((stem,), (DOCUMENTS,), seen, drawn(rows, per_class)),
        )

    return read


def sentences_of_languages(folder: Path, per_class: int | None) -> LabelledSet:
    """Drawn sentences in thirteen languages."""
    rows = [
        said(text, is_good=not holds, source=f"{language} {holds}")
        for language, text, holds in drawn_sentences(SENTENCES)
    ]
    return LabelledSet(
        "sentences in thirteen languages (constructed)",
        "Sentences with a card, a telephone or an e-mail address, against the same number of sentences with other numbers.",
        *(("pii",), (), TUNED, tuple(rows)),
    )


def names_on_the_web(folder: Path, per_class: int | None) -> LabelledSet:
    """Noisy messages with and without somebody's name."""
    rows = [said(row["output"], is_good=not row["label"]) for row in read_lines(folder, "wnut17_train")]
    return LabelledSet(
        "names in noisy text (WNUT 2017)",
        "Messages with somebody's name against messages without one, as many of each.",
        *(("pii-broad",), ("wnut17_train.jsonl.gz",), TRAINED, drawn(rows, per_class)),
    )


READERS: tuple[Reader, ...] = (
    tweets,
    comments,
    insults,
    harmless_texts,
    notes,
    health_sentences,
    talk_without_health,
    documents("documents (presidio-research)", "pii", STRUCTURED, TUNED),
    sentences_of_languages,
    documents("documents with names and addresses (presidio-research)", "pii-broad", BROAD, TRAINED),
    names_on_the_web,
)


def probes() -> Iterator[Probe]:
    """Yield the kinds of text that users meet, each with what should become of it."""
    functional, examples = toxicity_functional, toxicity_examples
    toxicity = (
        ("swearing at nobody", "Swearing that is aimed at nobody", True, functional.ENTHUSIASM),
        ("politics", "Politics", True, functional.POLITICS),
        ("death and illness", "Talk of death and illness", True, functional.DEATH_AND_HEALTH),
        ("references", "Titles that name terrible things", True, functional.REFERENCES),
        ("hate denied", "Hate that is denied", True, functional.NEGATED),
        ("hate quoted", "Hate that is quoted", True, functional.QUOTED),
        ("hate answered", "Hate that is answered", True, functional.COUNTER),
        ("reclaimed words", "Slurs that those whom they are aimed at use for themselves", True, functional.RECLAIMED),
        ("frightening words", "Harmless prompts with frightening words", True, examples.HARMLESS),
        ("talk about groups", "Harmless talk about groups", True, examples.GROUP_TALK),
        ("contempt for groups", "Contempt for groups in clean words", False, examples.GROUP_HATE),
        ("mild insults", "Mildly worded insults", False, examples.TOXIC),
        ("disguised insults", "Insults in markup, unseen characters and look-alikes", False, _disguised()),
    )
    phi = (
        ("somebody's health", "Short sentences about somebody's health", False, phi_examples.HEALTH),
        ("persons without health", "The same persons without an illness", True, phi_examples.PERSONS),
        ("medicine without persons", "The same medicine without a person", True, phi_examples.MEDICINE),
    )
    names = [
        (
            f"names, {origin}",
            f"Sentences that name somebody, {origin}: names and sentences not trained on",
            False,
            texts,
        )
        for origin, texts in named_by_origin().items()
    ]
    nobody = (
        "words that are no names",
        "Places, dishes, firms, languages, feasts and products",
        True,
        nameless_words(),
    )
    for stem, kinds in (("toxicity", toxicity), ("phi", phi), ("pii-broad", (*names, nobody))):
        yield from (_probe(stem, *kind) for kind in kinds)


def _disguised() -> Sequence[str]:
    return [text for insult in toxicity_functional.INSULTS for text in toxicity_functional.disguised(insult)]


def _probe(stem: str, name: str, about: str, should_pass: bool, texts: Sequence[str]) -> Probe:
    return Probe(name, about, (stem,), should_pass, tuple([Sample(output=text) for text in texts]))
