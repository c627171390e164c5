"""Several questions for one score, with the sum of what they have cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from evaluators.base import CannotScore, JSONValue, Settings
from evaluators.gateway import Answer, JudgeGateway, Question
from evaluators.judging.readings import owed_as_well, usage_of


class Asker:
    """Ask for one sample, and remember the answers for the account of their cost."""

    def __init__(self, gateway: JudgeGateway, settings: Settings) -> None:
        """Ask `gateway` as the effective settings say."""
        self._gateway = gateway
        self._settings = settings
        self._answers: list[Answer] = []

    async def ask_all(self, questions: Sequence[Question]) -> list[Answer]:
        """Return the answers in order; equal questions are asked once, and one failure fails them all."""
        distinct = list({(asked.prompt_id, asked.user): asked for asked in questions}.values())
        answers = await self._gateway.ask_all(distinct, self._settings) if distinct else []
        self._answers.extend(answers)
        found = {(asked.prompt_id, asked.user): answer for asked, answer in zip(distinct, answers, strict=True)}
        return [found[asked.prompt_id, asked.user] for asked in questions]

    async def ask(self, question: Question) -> Answer:
        """Ask one question."""
        return (await self.ask_all([question]))[0]

    def usage(self) -> dict[str, JSONValue]:
        """Return what all questions together have cost."""
        return usage_of(self._answers)

    @property
    def answers(self) -> Sequence[Answer]:
        """Return all answers there are."""
        return self._answers


@contextmanager
def owing(answers: Sequence[Answer]) -> Iterator[None]:
    """Add what was answered before to what an error inside says was used; `answers` may grow inside."""
    try:
        yield
    except CannotScore as exc:
        owed_as_well(exc, answers)
        raise
