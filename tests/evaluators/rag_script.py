"""A judge that answers from a script, and the sample that it is asked about."""

from __future__ import annotations

import asyncio
from typing import Any

from evaluators.base import EvaluatorSpec, Sample, Score, effective_settings
from evaluators.families.rag_metrics import RagMetrics
from evaluators.gateway import Question
from tests.evaluators.fake_gateway import FakeGateway, data_of
from tests.evaluators.samples import make_sample

FAMILY = RagMetrics()
SPECS = {spec.settings["metric"]: spec for spec in FAMILY.evaluators}
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
        name, data = asked.prompt_id.removesuffix("/1").removeprefix("rag-"), data_of(asked)
        context = data.get("RETRIEVED CONTEXT")
        return {
            "relevance": lambda: truth(context in self.relevant, context),
            "containment": lambda: truth(context in self.contained, context),
            "main-points": lambda: {"reasoning": "", "points": list(self.points)},
            "derivability": lambda: truth(self.points[data["STATEMENT"]], A),
            "consistency": lambda: truth(self.consistent, "Bananas are blue."),
            "similarity": lambda: {"reasoning": "Half of it.", "score": self.similarity},
            "faithfulness": lambda: {"reasoning": "", "statements": [statement(each) for each in self.statements]},
            "relevant-statements": lambda: {"reasoning": "", "relevant_statements": self.needed},
        }[name]()


def truth(met: bool, quote: Any = "") -> dict[str, Any]:
    return {"reasoning": "", "quote": quote if met else "", "met": met}


def statement(supported: bool) -> dict[str, Any]:
    return {"statement": "A thing.", "quote": A if supported else "", "supported": supported}


def spec(metric: str) -> EvaluatorSpec:
    return SPECS[metric]


def run(metric: str, sample: Sample = SAMPLE, *, chosen: Any = None, **said: Any) -> tuple[Score, FakeGateway]:
    gateway = FakeGateway(Script(**said))
    settings = effective_settings(spec(metric), chosen or {})
    assert FAMILY.missing_fields(sample, settings) == []
    return asyncio.run(FAMILY.score_with(sample, settings, gateway)), gateway
