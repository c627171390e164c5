"""Several questions for one score, with the sum of what they have cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from evaluators.base import CannotScore, JSONValue, Settings
from evaluators.gateway import Answer, JudgeGateway, Question
from evaluators.judging.readings import attach_usage, sum_usage


class Asker:
    """Send the judge questions for one sample and record the answers for usage accounting."""

    def __init__(self, gateway: JudgeGateway, settings: Settings) -> None:
        """Send questions through `gateway` with the effective settings."""
        self._gateway = gateway
        self._settings = settings
        self._answers: list[Answer] = []

    async def ask_all(self, questions: Sequence[Question]) -> list[Answer]:
        """Return the answers in order; equal questions are sent once, and a single failure fails all of them."""
        distinct = list({(item.prompt_id, item.user): item for item in questions}.values())
        answers = await self._gateway.ask_all(distinct, self._settings) if distinct else []
        self._answers.extend(answers)
        answers_by_key = {(item.prompt_id, item.user): answer for item, answer in zip(distinct, answers, strict=True)}
        return [answers_by_key[item.prompt_id, item.user] for item in questions]

    async def ask(self, question: Question) -> Answer:
        """Send one question and return its answer."""
        return (await self.ask_all([question]))[0]

    def usage(self) -> dict[str, JSONValue]:
        """Return what all questions together have cost."""
        return sum_usage(self._answers)

    @property
    def answers(self) -> Sequence[Answer]:
        """Return all answers there are."""
        return self._answers


@contextmanager
def owing(answers: Sequence[Answer]) -> Iterator[None]:
    """Add the usage of earlier answers to an error raised inside the block; `answers` can grow inside the block."""
    try:
        yield
    except CannotScore as exc:
        attach_usage(exc, answers)
        raise
