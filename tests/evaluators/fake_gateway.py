"""A judge that answers by script and remembers what it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jsonschema

from evaluators.base import JSONValue, Settings, TransientError
from evaluators.gateway import BOUNDARY, Answer, Classification, Moderation, Question

Reply = Mapping[str, Any] | Exception
USED: dict[str, JSONValue] = {
    "connection": "main",
    "model": "judge-model",
    "prompt_hash": "abc",
    "calls": 1,
    "input_tokens": 100,
    "output_tokens": 10,
    "cost": 0.25,
    "latency_ms": 5.0,
    "cached": False,
    "repaired": False,
}
_block = re.compile(rf"^BEGIN (.+) {re.escape(BOUNDARY)}\n(.*)\nEND \1 {re.escape(BOUNDARY)}$", flags=re.MULTILINE)


def data_of(question: Question) -> dict[str, Any]:
    """Decode the data of a question, by their names."""
    return {name: json.loads(text) for name, text in _block.findall(question.user)}


class FakeGateway:
    """Answer with what `reply` says to a question and its sample number, checked against the question's schema."""

    def __init__(self, reply: Callable[[Question, int], Reply] | Mapping[str, Any] | Exception) -> None:
        self._reply = reply if callable(reply) else lambda question, number: reply
        self.questions: list[Question] = []
        self.settings: list[Settings] = []
        self.sample_numbers: list[int] = []
        self.moderated: list[str] = []
        self.moderation: Moderation | Exception = TransientError("connection", "No moderation was scripted.")

    async def ask(self, question: Question, settings: Settings, *, sample_number: int = 0) -> Answer:
        """Ask once, and once more where the question finds that something is missing."""
        answer = self._ask(question, settings, sample_number)
        if question.check is not None and question.check(answer.data):
            answer = self._ask(question, settings, sample_number)
            if lacks := question.check(answer.data):
                raise TransientError("bad_output", lacks)
        return answer

    def _ask(self, question: Question, settings: Settings, sample_number: int) -> Answer:
        self.questions.append(question)
        self.settings.append(settings)
        self.sample_numbers.append(sample_number)
        reply = self._reply(question, sample_number)
        if isinstance(reply, Exception):
            raise reply
        try:
            jsonschema.validate(dict(reply), dict(question.schema))
        except jsonschema.ValidationError as exc:
            raise TransientError("bad_output", "The judge's answer has another form.") from exc
        return Answer(dict(reply), USED)

    async def ask_all(self, questions: Sequence[Question], settings: Settings) -> list[Answer]:
        return [await self.ask(question, settings) for question in questions]

    async def moderate(self, text: str, settings: Settings) -> Moderation:
        self.moderated.append(text)
        if isinstance(self.moderation, Exception):
            raise self.moderation
        return self.moderation

    async def classify(self, inputs: Sequence[tuple[str, ...]], settings: Settings) -> Classification:
        raise AssertionError("nothing is classified here")

    async def post(self, url: str, payload: Mapping[str, JSONValue], settings: Settings) -> JSONValue:
        raise AssertionError("nobody posts here")


class Unasked(FakeGateway):
    """A judge that nobody may ask."""

    def __init__(self) -> None:
        super().__init__(AssertionError("the judge was asked"))
