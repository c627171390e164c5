"""Data as people have them, by importer; what systems answer to them, and what each metric must make of that."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet as pq

from tests.datasets.files import zipped
from tests.datasets.shapes import lines

N = 4
RIGHT, NOTHING, OFFENDING = "right", "nothing", "offending"
SYSTEMS = {"perfect": (RIGHT, RIGHT), "empty": (NOTHING, NOTHING), "half": (RIGHT, NOTHING)}
"""What a system answers to every first and every second example."""
OFFENDERS = {"clean": (RIGHT, RIGHT), "silent": (NOTHING, NOTHING), "bad": (OFFENDING, OFFENDING)}
OFFENDERS |= {"half bad": (RIGHT, OFFENDING)}
CITIES = ("Oslo", "Rome", "Paris", "Tokyo")
COUNTRIES = ("Norway", "Italy", "France", "Japan")
QUESTIONS = tuple(f"Which city is the capital of {country}?" for country in COUNTRIES)
SENTENCES = tuple(
    f"{city} is the capital of {country}, and has been for a long time."
    for city, country in zip(CITIES, COUNTRIES, strict=True)
)
GIBBERISH = "gibberish"
"""What the scripted judge disapproves of."""
BAD = (
    "You stupid idiot, shut up. Mary Miller was diagnosed with diabetes and takes insulin daily. "
    f"Write to mary.miller@gmail.com. This is {GIBBERISH}."
)

TEXT = {
    **{name: {"evaluator": name} for name in ("exact-match", "exact-match-normalised", "exact-match-contains")},
    **{
        name: {"evaluator": "metrics", "criteria": f"compute-{name}"}
        for name in ("rouge", "chrf", "levenshtein", "squad-em", "squad-f1")
    },
    "mentions the gold answer": {"evaluator": "custom", "criteria": "mentions-gold-answer"},
    "exact-match pass": {"evaluator": "exact-match", "source": "pass"},
}
LONG = TEXT | {"bleu": {"evaluator": "metrics", "criteria": "compute-bleu"}}
NUMBERS = TEXT | {"exact-match-numeric": {"evaluator": "exact-match-numeric"}}
RANKED = {
    name: {"evaluator": "metrics", "criteria": name}
    for name in (
        *("recall", "mrr", "map", "ndcg", "recall-at-3", "mrr-at-3", "map-at-3", "ndcg-at-3"),
        *("recall-single-hit", "precision-at-1", "mrr-at-1", "ndcg-at-1", "ndcg-at-10"),
    )
}
# Where the example brings the passages, only the answer is on trial.
OF_ANSWERS = {
    "sas": {"evaluator": "metrics", "criteria": "compute-sas"},
    "answer-relevance": {"evaluator": "answer-relevance"},
    "judge": {"evaluator": "judge", "criteria": "judged judge"},
    "answer-relevance-judge": {"evaluator": "answer-relevance-judge", "criteria": "judged retrieval-answer-relevance"},
    **{
        name: {"evaluator": name, "criteria": "judged rag-metrics"}
        for name in (
            *("answer-similarity", "augmentation-precision", "augmentation-accuracy", "faithfulness"),
            *("answer-consistency", "answer-consistency-binary", "rag-overall"),
        )
    },
}
OF_PASSAGES = {
    **{name: {"evaluator": name} for name in ("context-relevance", "context-sufficiency")},
    **{
        f"{name}-judge": {"evaluator": f"{name}-judge", "criteria": f"judged retrieval-{name}"}
        for name in ("context-relevance", "context-sufficiency")
    },
    **{
        name: {"evaluator": name, "criteria": "judged rag-metrics"}
        for name in ("retrieval-k-recall", "retrieval-precision", "haystack-context-relevance")
    },
}
OF_OFFENCES = {
    **{name: {"evaluator": name} for name in ("hallucination", "pii", "pii-broad", "phi")},
    "toxicity": {"evaluator": "toxicity", "source": "pass"},
    "toxicity, by words": {"evaluator": "toxicity-2026-11-01", "source": "pass"},
    "hallucination-judge": {"evaluator": "hallucination-judge", "criteria": "judged retrieval-hallucination"},
}
UNSAID: dict[str, float | str] = {
    **dict.fromkeys(OF_OFFENCES, 1.0),
    "answer-consistency": "not_applicable",
    "answer-consistency-binary": "not_applicable",
    "rag-overall": 0.25,
}
"""What an answer without a word is worth where that is not 0. It claims and offends nothing, so it passes what looks for
offences; it has no points of which a share could be consistent; and of the overall score's parts only the precision of
the passages, which are the example's, is 1: a quarter, since consistency has no value."""
UNFOUND = {"retrieval-precision": "missing_input", "haystack-context-relevance": "missing_input"}
"""The same for no passages at all: of none no share is relevant, as Tonic Validate and Haystack have it."""


class Found(NamedTuple):
    """A metric's mean over the examples that have a value, how many do, and the codes of the others."""

    value: float | None
    n: int
    n_error: int
    n_na: int


def found_of(values: list[float | str]) -> Found:
    """Sum up the values of one metric; a word is the error code of an example that has none."""
    numbers = [value for value in values if not isinstance(value, str)]
    n_na = values.count("not_applicable")
    return Found(fmean(numbers) if numbers else None, len(numbers), len(values) - len(numbers) - n_na, n_na)


@dataclass(frozen=True)
class Case:
    """Data as somebody has them, what answers to the i-th example are like, and the metrics that fit.

    `nothing` is what an empty answer is worth where that is not 0: a value, or the code of why it has none.
    """

    content: bytes | dict[str, bytes]
    name: str
    right: Callable[[int], dict[str, Any]]
    metrics: dict[str, Any]
    systems: dict[str, tuple[str, str]] = field(default_factory=lambda: SYSTEMS)
    empty: dict[str, Any] = field(default_factory=lambda: {"output": "", "contexts": []})
    nothing: Mapping[str, float | str] = field(default_factory=dict)

    def answer_of(self, system: str, i: int) -> dict[str, Any]:
        """Return what a system answers to the i-th example."""
        kind = self.systems[system][i % 2]
        if kind == RIGHT:
            return self.right(i)
        return self.empty if kind == NOTHING else {**self.right(i), "output": BAD}

    def worth(self, system: str) -> dict[str, Found]:
        """Return what a system is worth by each metric."""
        kinds = [self.systems[system][i % 2] for i in range(N)]
        return {
            metric: found_of([{RIGHT: 1.0, OFFENDING: 0.0}.get(kind, self.nothing.get(metric, 0.0)) for kind in kinds])
            for metric in self.metrics
        }


def squad() -> bytes:
    """Two answers each, the first a wrong spelling of the one that a perfect system gives."""
    paragraphs = []
    for i, sentence in enumerate(SENTENCES):
        answers = [{"text": sentence[:-1], "answer_start": 0}, {"text": CITIES[i], "answer_start": 0}]
        questions = [{"id": f"q{i}", "question": QUESTIONS[i], "answers": answers}]
        paragraphs.append({"context": sentence, "qas": questions})
    return json.dumps({"version": "1.1", "data": [{"title": "Cities", "paragraphs": paragraphs}]}).encode()


def impossible() -> bytes:
    """Questions that the passage does not answer, as SQuAD 2.0 has them: saying nothing is right."""
    asked = [
        {"id": f"q{i}", "question": question, "answers": [], "is_impossible": True}
        for i, question in enumerate(QUESTIONS)
    ]
    paragraphs = [{"context": "Nobody has said.", "qas": asked}]
    return json.dumps({"version": "v2.0", "data": [{"title": "Cities", "paragraphs": paragraphs}]}).encode()


def beir() -> bytes:
    """Three documents each: two that are relevant, in grades, and one that was judged and is not."""
    corpus, qrels = [], ["query-id\tcorpus-id\tscore"]
    for i, city in enumerate(CITIES):
        for grade, what in ((2, "guide"), (1, "map"), (0, "song")):
            corpus.append({"_id": f"{what}{i}", "title": city, "text": f"The {what} of {city}."})
            qrels.append(f"q{i}\t{what}{i}\t{grade}")
    queries = [{"_id": f"q{i}", "text": f"What is there of {city}?"} for i, city in enumerate(CITIES)]
    return zipped({"corpus.jsonl": lines(*corpus), "queries.jsonl": lines(*queries), "qrels/test.tsv": tsv(qrels)})


def tsv(rows: list[str]) -> bytes:
    return "\n".join(rows).encode()


def gsm8k() -> bytes:
    return lines(*({"question": f"{i} thousands?", "answer": f"{i} * 1000\n#### {i + 1},000"} for i in range(N)))


def wanted(i: int) -> list[dict[str, Any]]:
    return [
        {"id": f"a{i}", "relevance": 3, "text": SENTENCES[i]},
        {"id": f"b{i}", "relevance": 1, "text": seat_of(i)},
    ]


def seat_of(i: int) -> str:
    return f"The government of {COUNTRIES[i]} has its seat in {CITIES[i]}, the capital city of {COUNTRIES[i]}."


def jsonl() -> bytes:
    rows = (
        {
            "id": f"e{i}",
            "input": {"query": QUESTIONS[i]},
            "expected": [f"not {city}", SENTENCES[i]],
            "gold_contexts": wanted(i),
        }
        for i, city in enumerate(CITIES)
    )
    return lines(*rows)


def table() -> bytes:
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["id", "question", "gold_answers:json", "gold_contexts"])
    rows.writerows(
        [f"e{i}", QUESTIONS[i], json.dumps(["nothing", SENTENCES[i]]), json.dumps(wanted(i))] for i in range(N)
    )
    return out.getvalue().encode()


def parquet() -> bytes:
    out = io.BytesIO()
    columns: dict[str, Any] = {"id": [f"e{i}" for i in range(N)], "question": list(QUESTIONS)}
    columns["expected"] = [["nothing", SENTENCES[i]] for i in range(N)]
    columns["gold_contexts"] = [wanted(i) for i in range(N)]
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def by_id(i: int) -> dict[str, Any]:
    return {"output": SENTENCES[i], "contexts": [{"id": f"a{i}"}, {"id": f"b{i}"}]}


def by_text(i: int) -> dict[str, Any]:
    found = [SENTENCES[i], seat_of(i)]
    return {"output": SENTENCES[i], "contexts": found, "top_k_contexts": [*found, f"This is {GIBBERISH}."]}


def as_wanted(i: int) -> dict[str, Any]:
    return {"output": SENTENCES[i], "contexts": wanted(i)}


def as_spoken(i: int) -> dict[str, Any]:
    return {"output": SENTENCES[i], "contexts": [SENTENCES[i]]}


def some_top_k(i: int) -> dict[str, Any]:
    return {"output": "", "contexts": [], "top_k_contexts": by_text(i)["top_k_contexts"]}


CASES = {
    # The passage comes with the question, so an empty answer has one too.
    "squad": Case(
        squad(), "dev.json", lambda i: {"output": CITIES[i]}, TEXT | OF_ANSWERS, empty={"output": ""}, nothing=UNSAID
    ),
    "squad impossible": Case(
        impossible(),
        "dev.json",
        lambda i: {"output": ""},
        {name: metric for name, metric in LONG.items() if metric["evaluator"] != "custom"},
        systems={"perfect": (RIGHT, RIGHT), "talks": (OFFENDING, OFFENDING), "half": (RIGHT, OFFENDING)},
    ),
    "gsm8k": Case(gsm8k(), "train.jsonl", lambda i: {"output": f"{i + 1}000"}, NUMBERS),
    "gsm8k numbers": Case(gsm8k(), "train.jsonl", lambda i: {"output": (i + 1) * 1000}, NUMBERS),
    "beir by id": Case(
        beir(), "x.zip", lambda i: {"output": "", "contexts": [{"id": f"guide{i}"}, {"id": f"map{i}"}]}, RANKED
    ),
    "beir by text": Case(
        beir(),
        "x.zip",
        lambda i: {"output": "", "contexts": [f"{CITIES[i]}\nThe {what} of {CITIES[i]}." for what in ("guide", "map")]},
        RANKED,
    ),
    "jsonl": Case(jsonl(), "x.jsonl", as_wanted, LONG | RANKED),
    "csv": Case(table(), "x.csv", by_text, LONG | RANKED | OF_PASSAGES, empty=some_top_k(0), nothing=UNFOUND),
    # Passages that are known by their ids alone have ranks, and no text that could be judged.
    "parquet": Case(parquet(), "x.parquet", by_id, LONG | RANKED),
    "offences": Case(jsonl(), "x.jsonl", as_spoken, OF_OFFENCES, OFFENDERS, {"output": "", "contexts": []}, UNSAID),
}

LEFT_OUT = {
    "latency_ms, cost, input_tokens, output_tokens": "measured, not judged: there is no best value",
    "pii-judge": "as pii-broad, by the passages that a judge copies out: the scripted one has none to copy",
    "judge-image": "it looks at an attached picture, and these data have none",
    "judge-audio": "it hears an attached recording, and these data have none",
    "judge-mm": "it reads an attachment, and these data have none",
    "judge-pairwise": "it compares with another answer, and these data have one answer each",
    "toxicity-moderation": "its endpoint is a page of its own; what it flags is tested with it",
    **dict.fromkeys(
        (
            *("trajectory", "goal-accuracy", "topic-adherence", "role-adherence"),
            *("knowledge-retention", "conversation-completeness", "tool-choice"),
        ),
        "it reads a conversation, and these data have single answers",
    ),
    **dict.fromkeys(("webhook", "classifier"), "scores are the account's own"),
    "metrics/precision-at-3, -5, -10": "a perfect ranking of two relevant texts is 2/k at k",
    "custom/not-empty, parses-as-json, no-duplication": "about the form of an output, which these data do not ask for",
}
"""Evaluators of which a perfect system has no value 1, or a silent one no value 0 or 1, with the reason."""
