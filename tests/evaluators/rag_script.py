"""A judge that answers from a script, and the sample that it is asked about."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from evaluators.base import EvaluatorSpec, Sample, Score, effective_settings
from evaluators.families.rag_metrics import RagMetrics
from evaluators.gateway import Question
from tests.evaluators.fake_gateway import FakeGateway, data_of
from tests.evaluators.samples import make_sample

FAMILY = RagMetrics()
SPECS = {spec.settings["metric"]: spec for spec in FAMILY.evaluators if spec.aliases}
FORMER = {spec.settings["metric"]: spec for spec in FAMILY.evaluators if spec.id.endswith("-2026-11-20")}
A, B, C, D = "Apples are red.", "Bananas are yellow.", "Cars are fast.", "Dogs bark."
SAMPLE = make_sample(
    input="Which colour are fruits?",
    output="Apples are red. Bananas are blue.",
    gold="Apples red, bananas yellow.",
    contexts=(A, B, C),
    top_k_contexts=(A, B, C, D),
)


class Script:
    """Answers: which contexts are relevant or contained, which points there are and which hold."""

    def __init__(self, **said: Any) -> None:
        self.relevant: set[str] = {A, B}
        self.contained: set[str] = {A}
        self.points: dict[str, bool] = {"Apples are red.": True, "Bananas are blue.": False}
        self.similarity = 3.0
        self.consistent = False
        self.statements: list[bool] = [True, False, False]
        self.needed: list[str] = [A]
        self.__dict__.update(said)

    def __call__(self, asked: Question, _: int) -> dict[str, Any]:
        name, data = asked.prompt_id.partition("/")[0].removeprefix("rag-"), data_of(asked)
        sentences = data.get("SENTENCES")
        context = data.get("RETRIEVED CONTEXT")
        return {
            "relevance": lambda: truth(context in self.relevant, context),
            "containment": lambda: truth(context in self.contained, context),
            "main-points": lambda: {
                "reasoning": "",
                "points": decided(sentences, [{"point": text} for text in self.points], self.points),
            },
            "derivability": lambda: truth(self.points[data["STATEMENT"]], A),
            "consistency": lambda: truth(self.consistent, "Bananas are blue."),
            "similarity": lambda: {"reasoning": "Half of it.", "score": self.similarity},
            "faithfulness": lambda: {"reasoning": "", "statements": decided(sentences, self._statements())},
            "relevant-statements": lambda: {"reasoning": "", "relevant_statements": self.needed},
        }[name]()

    def _statements(self) -> list[dict[str, Any]]:
        return [statement(each) for each in self.statements]


def decided(sentences: list[str] | None, entries: Iterable[Any], former: Iterable[Any] | None = None) -> list[Any]:
    """Let entries decide the sentences, the last of them the rest; where there are none, each sentence is excused."""
    listed = list(entries)
    if sentences is None:
        return listed if former is None else list(former)
    n = len(sentences)
    said = [{**entry, "sentence": min(i, n), "is_claim": True} for i, entry in enumerate(listed, start=1)]
    blank = listed[0] if listed else {"point": ""} if former is not None else statement(supported=False)
    return said + [{**blank, "sentence": i, "is_claim": False} for i in range(len(listed) + 1, n + 1)]


def truth(met: bool, quote: Any = "") -> dict[str, Any]:
    return {"reasoning": "", "quote": quote if met else "", "met": met}


def statement(supported: bool) -> dict[str, Any]:
    return {"statement": "A thing.", "quote": A if supported else "", "supported": supported}


def spec(metric: str) -> EvaluatorSpec:
    return SPECS[metric]


def run(
    metric: str, sample: Sample = SAMPLE, *, former: bool = False, chosen: Any = None, **said: Any
) -> tuple[Score, FakeGateway]:
    gateway = FakeGateway(Script(**said))
    settings = effective_settings((FORMER if former else SPECS)[metric], chosen or {})
    assert FAMILY.missing_fields(sample, settings) == []
    return asyncio.run(FAMILY.score_with(sample, settings, gateway)), gateway
