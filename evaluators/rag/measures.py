"""The metrics themselves: those of Tonic Validate, and two of Haystack. Each is a mean of small verdicts.

A metric without a value raises CannotScore("not_applicable") instead of returning 0. The formulas and edge cases follow
Tonic Validate 6.2 and Haystack 3.4, except where a docstring states a difference.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evaluators.base import CannotScore, Field, JSONValue, Sample, Settings
from evaluators.gateway import Question
from evaluators.judging.client import Asker
from evaluators.judging.readings import MAX_DETAILS, shortened
from evaluators.rag import questions
from evaluators.rag.questions import Statement, Truth

T = TypeVar("T")
MAX_CONTEXTS = 100
MAX_POINTS = 100


@dataclass(frozen=True, slots=True)
class RagValue:
    """A metric's value between 0 and 1, one sentence why, and the details."""

    value: float
    because: str
    extra: Mapping[str, JSONValue] = field(default_factory=dict)


class Rag:
    """One sample under measurement: a question shared by several metrics is sent once."""

    def __init__(self, sample: Sample, settings: Settings, asker: Asker) -> None:
        """Drop blank contexts: an answer cannot rely on them, and Haystack and our other rules drop them too."""
        self.input = sample.input or ""
        self.output = sample.output or ""
        self.golds = sample.gold_texts or ("",)
        self.contexts = _drop_blank(sample.context_texts)
        self.top_k = tuple(dict.fromkeys(_drop_blank(sample.top_k_texts)))
        self._settings = settings
        self._asker = asker
        self._known: dict[str, Any] = {}

    async def relevant(self, contexts: Sequence[str]) -> list[Truth]:
        """Return of each context whether it helps to answer the question."""
        _require(self.input, Field.INPUT)
        questions_asked = [questions.relevance(self.input, context, self._settings) for context in contexts]
        return await self._truths(contexts, questions_asked)

    async def relevance(self) -> list[Truth]:
        """Return of each retrieved context whether it is relevant."""
        return await self._once("relevance", lambda: self.relevant(self._some_contexts()))

    async def contained(self) -> list[Truth]:
        """Return of each retrieved context whether the answer uses it; a blank answer uses none."""
        return await self._once("contained", self._contained)

    async def points(self) -> list[Statement]:
        """Return the answer's main points, and whether each can be derived from the contexts."""
        return await self._once("points", self._points)

    async def _once(self, name: str, ask: Callable[[], Awaitable[T]]) -> T:
        if name not in self._known:
            self._known[name] = await ask()
        value: T = self._known[name]
        return value

    async def _contained(self) -> list[Truth]:
        contexts = self._some_contexts()
        if not self.output.strip():
            return [Truth(False)] * len(contexts)
        questions_asked = [questions.containment(self.output, context, self._settings) for context in contexts]
        return await self._truths(contexts, questions_asked)

    async def _points(self) -> list[Statement]:
        contexts = self._some_contexts()
        _require_statements(self.output.strip())
        asked_for = questions.main_points(self.output, self._settings)
        texts = questions.read_points(await self._asker.ask(asked_for), self._settings)
        _require_statements(texts)
        if len(texts) > MAX_POINTS:
            raise CannotScore("input_too_long", f"The output makes more than {MAX_POINTS} points.")
        questions_asked = [questions.derivability(text, contexts, self._settings) for text in texts]
        truths = [
            questions.truth(answer, contexts, self._settings) for answer in await self._asker.ask_all(questions_asked)
        ]
        return [Statement(text, truth.met, truth.verified) for text, truth in zip(texts, truths, strict=True)]

    async def answer_similarity(self) -> RagValue:
        """Return a number from 0 to 5, divided by 5. Two blank texts score 5 and one scores 0, without a judge call.

        Of several accepted answers the nearest counts: all of them are included in one question.
        """
        golds = [gold for gold in self.golds if gold.strip()]
        blank = [not self.output.strip(), not golds or (not self.output.strip() and len(golds) < len(self.golds))]
        if any(blank):
            raw, why = (5.0, "Both are blank.") if all(blank) else (0.0, "One of them is blank.")
        else:
            question = questions.similarity(self.input, golds, self.output, self._settings)
            raw, why = questions.read_similarity(await self._asker.ask(question))
        because = f"The answer is similar to the gold answer by {raw:g} of 5. {why}".rstrip()
        several: dict[str, JSONValue] = {"references": len(self.golds)} if len(self.golds) > 1 else {}
        return RagValue(raw / 5, because, {"raw": raw, **several})

    async def retrieval_precision(self) -> RagValue:
        """Return the relevant contexts over all retrieved ones."""
        return _share(await self.relevance(), "relevant", "contexts are relevant to the question")

    async def augmentation_accuracy(self) -> RagValue:
        """Return the contexts that the answer uses over all retrieved ones."""
        return _share(await self.contained(), "contained", "contexts are used in the answer")

    async def augmentation_precision(self) -> RagValue:
        """Return the relevant contexts that the answer uses over the relevant ones; none relevant is 0."""
        pairs = list(zip(await self.relevance(), await self.contained(), strict=True))
        n_relevant = sum(relevant.met for relevant, _ in pairs)
        n_used = sum(relevant.met and contained.met for relevant, contained in pairs)
        rows: list[JSONValue] = [
            {"index": index, "relevant": relevant.met, "contained": contained.met}
            for index, (relevant, contained) in enumerate(pairs[:MAX_DETAILS])
        ]
        because = f"{n_used} of {n_relevant} relevant contexts are used in the answer."
        extra: dict[str, JSONValue] = {"contexts": rows, "n_relevant": n_relevant, "n_used": n_used}
        return RagValue(n_used / n_relevant if n_relevant else 0.0, because, extra)

    async def answer_consistency(self) -> RagValue:
        """Return the main points that can be derived from the contexts over all of them."""
        return _supported(await self.points(), "points", "main points can be derived from the contexts")

    async def answer_consistency_binary(self) -> RagValue:
        """Return 1 when everything in the answer can be derived from the contexts, else 0."""
        contexts = self._some_contexts()
        _require_statements(self.output.strip())
        answer = await self._asker.ask(questions.consistency(self.output, contexts, self._settings))
        truth = questions.truth(answer, (*contexts, self.output), self._settings)
        because = f"{'All' if truth.met else 'Not all'} of the answer can be derived from the contexts."
        return RagValue(float(truth.met), because, {"quotes_verified": truth.verified})

    async def retrieval_k_recall(self) -> RagValue:
        """Return the proportion of the relevant texts in the longer list that were retrieved.

        Texts are equal if every character is; repeated texts count once. If none is relevant, recall is undefined:
        Tonic's version divided by zero.
        """
        if not self.top_k:
            raise _nothing("The longer list of contexts is empty.", code="missing_input")
        truths = await self.relevant(_bounded(self.top_k))
        relevant = [text for text, truth in zip(self.top_k, truths, strict=True) if truth.met]
        if not relevant:
            raise _nothing("None of the longer list of contexts is relevant, so there is nothing to recall.")
        n_found = len(set(relevant) & set(self.contexts))
        extra = {**_share(truths, "relevant", "").extra, "n_relevant": len(relevant), "n_retrieved": n_found}
        because = f"{n_found} of {len(relevant)} relevant contexts of the longer list were retrieved."
        return RagValue(n_found / len(relevant), because, extra)

    async def faithfulness(self) -> RagValue:
        """Return the supported statements over all of them; an answer without statements is 0 and flagged."""
        contexts = self._some_contexts()
        statements: list[Statement] = []
        if self.output.strip():
            question = questions.faithfulness(self.input, self.output, contexts, self._settings)
            statements = questions.read_statements(await self._asker.ask(question), contexts, self._settings)
        if not statements:
            return RagValue(0.0, "The answer makes no statements, which counts as 0.", {"no_statements": True})
        return _supported(statements, "statements", "statements are supported by the contexts")

    async def context_relevance(self) -> RagValue:
        """Return 1 if the contexts together contain anything that the question needs, else 0."""
        contexts = self._some_contexts()
        _require(self.input, Field.INPUT)
        question = questions.relevant_statements(self.input, contexts, self._settings)
        truths = questions.read_relevant(await self._asker.ask(question), contexts, self._settings)
        because = f"The contexts hold {len(truths)} statements that the question needs."
        verified = all(truth.verified for truth in truths) if truths else None
        return RagValue(float(bool(truths)), because, {"n_relevant": len(truths), "quotes_verified": verified})

    async def _truths(self, contexts: Sequence[str], asked: Sequence[Question]) -> list[Truth]:
        answers = await self._asker.ask_all(asked)
        pairs = zip(answers, contexts, strict=True)
        return [questions.truth(answer, [context], self._settings) for answer, context in pairs]

    def _some_contexts(self) -> tuple[str, ...]:
        if not self.contexts:
            raise _nothing("No context was sent that holds any text.", code="missing_input")
        return _bounded(self.contexts)


async def overall(measures: Mapping[str, Callable[[], Awaitable[RagValue]]]) -> RagValue:
    """Return the mean of the metrics that have a value, similarity as a fifth of its number; the others are named."""
    values: dict[str, JSONValue] = {}
    absent: list[JSONValue] = []
    for name, measure in measures.items():
        try:
            values[name] = (await measure()).value
        except CannotScore as exc:
            # Only metrics without a value are skipped; any other error of one metric is an error of the mean.
            if exc.code != "not_applicable":
                raise
            absent.append(name)
    numbers = [value for value in values.values() if isinstance(value, float)]
    if not numbers:
        raise _nothing("None of the metrics has a value for this sample.")
    because = f"The mean of {', '.join(f'{name} {value:.2f}' for name, value in zip(values, numbers, strict=True))}."
    return RagValue(sum(numbers) / len(numbers), because, {"components": values, "not_applicable": absent})


def _share(found: Sequence[Truth], word: str, what: str) -> RagValue:
    n_met = sum(truth.met for truth in found)
    rows: list[JSONValue] = [
        {"index": index, word: truth.met, "quote_found": truth.verified}
        for index, truth in enumerate(found[:MAX_DETAILS])
    ]
    extra: dict[str, JSONValue] = {"contexts": rows, "n_contexts": len(found)}
    return RagValue(n_met / len(found), f"{n_met} of {len(found)} {what}.", extra)


def _supported(found: Sequence[Statement], word: str, what: str) -> RagValue:
    n_met = sum(statement.supported for statement in found)
    rows: list[JSONValue] = [
        {"text": shortened(statement.text), "supported": statement.supported, "quote_found": statement.verified}
        for statement in found[:MAX_DETAILS]
    ]
    return RagValue(n_met / len(found), f"{n_met} of {len(found)} {what}.", {word: rows, f"n_{word}": len(found)})


def _drop_blank(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if text.strip())


def _bounded(contexts: tuple[str, ...]) -> tuple[str, ...]:
    if len(contexts) > MAX_CONTEXTS:
        raise CannotScore("input_too_long", f"More than {MAX_CONTEXTS} contexts were sent.")
    return contexts


def _require(text: str, name: Field) -> None:
    if not text.strip():
        raise _nothing(f"`{name}` is blank.", code="missing_input")


def _require_statements(found: object) -> None:
    if not found:
        raise _nothing("The output states nothing that could be derived from the contexts.")


def _nothing(detail: str, *, code: str = "not_applicable") -> CannotScore:
    return CannotScore(code, detail)
