"""What the tests of judging share: a question, and a judge that is asked it."""

from __future__ import annotations

import asyncio
from typing import Any

from evaluators.base import JSONValue
from evaluators.gateway import Answer, Question
from evaluators.judging.prompts import answer_schema, question
from evaluators.judging.readings import (
    Reading,
    read_number,
    read_text,
)
from evaluators.judging.samples import judge_samples
from tests.evaluators.fake_gateway import FakeGateway

SCHEMA = answer_schema({"score": {"type": "number", "minimum": 0, "maximum": 1}})


def made(*data: tuple[str, Any], task: str = "Judge it.") -> Question:
    return question("test/1", task=task, data=data, schema=SCHEMA, max_output_tokens=100)


def whole(text: str) -> str:
    """Join halves of surrogate pairs that stand side by side: JSON cannot tell them from the pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def read(answer: Answer) -> Reading:
    return Reading(read_number(answer.data, "score"), read_text(answer.data, "reasoning"))


def run(values: list[float], *, threshold: float = 0.5, scanned: str = "", **chosen: JSONValue) -> Any:
    gateway = FakeGateway(lambda _, number: {"reasoning": f"Sample {number}.", "score": values[number]})
    score = asyncio.run(
        judge_samples(
            gateway,
            made(("MODEL OUTPUT", "x")),
            chosen,
            read,
            threshold=threshold,
            scanned=(scanned,),
            explain=True,
        )
    )
    return score, gateway
