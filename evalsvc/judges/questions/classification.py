"""Classify texts by a connection: a classifier in as few calls as hold them, a guard model by one call for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence

from evalsvc.judges import failures
from evalsvc.judges.calls.classification import MAX_INPUTS, PROTOCOLS, Inputs, Labels, request_labels
from evalsvc.judges.calls.counted import complete_within_limits
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.questions.chances import compute_word_probabilities, find_word
from evalsvc.judges.questions.retries import RetryPolicy
from evaluators.base import Settings

MAX_ANSWER_TOKENS = 256
"""Some guard models explain themselves, or think, before or after the word."""
N_ALTERNATIVES = 5
OPPOSITES = {"safe": "unsafe", "unsafe": "safe", "yes": "no", "no": "yes"}


class Classifier:
    """A connection's model, with what a profile says of its labels. `new_retries` makes the policy of one call."""

    def __init__(
        self, connection: ConnectionFacts, model: str, settings: Settings, new_retries: Callable[[], RetryPolicy]
    ) -> None:
        names = settings.get("labels")
        self.connection = connection
        self.model = model
        self.names = [str(name) for name in names] if isinstance(names, list) else []
        if not self.names and not connection.is_classifier:
            self.names = guess_words(settings)
        self.is_weighed = settings.get("score_from") != "answer"
        self.new_retries = new_retries

    async def classify(self, inputs: Inputs, *, n_at_once: int) -> list[Labels]:
        """Return the labels of each input. Raises CallFailed, the first one, and ends the other calls."""
        if self.connection.is_classifier:
            batches = list(iter_batches(inputs, shares_first=PROTOCOLS[self.connection.protocol].shares_first))
            ask = self._classify_batch
        else:
            batches, ask = [[item] for item in inputs], self._ask_guard
        permits = asyncio.Semaphore(n_at_once)

        async def work(batch: Inputs) -> Sequence[Labels]:
            async with permits:
                return await ask(batch)

        tasks = [asyncio.create_task(work(batch)) for batch in batches]
        try:
            return [labels for results in await asyncio.gather(*tasks) for labels in results]
        finally:
            for task in tasks:
                task.cancel()

    async def _classify_batch(self, batch: Inputs) -> Sequence[Labels]:
        retries = self.new_retries()
        result = await retries.make(
            lambda seconds: request_labels(self.connection, batch, model=self.model, seconds=seconds, names=self.names)
        )
        retries.usage.model = result.model
        return result.labels

    async def _ask_guard(self, batch: Inputs) -> Sequence[Labels]:
        """Ask a guard model for its word on one text, or on an answer to a message."""
        if not self.names:
            detail = "List the words with which the guard model answers in `labels`."
            raise CallFailed(failures.NOT_CONFIGURED, detail)
        retries = self.new_retries()
        parameters: dict[str, object] = {"temperature": 0, "max_tokens": MAX_ANSWER_TOKENS}
        if self.is_weighed:
            parameters |= {"logprobs": True, "top_logprobs": N_ALTERNATIVES}
        completion = await retries.make(
            lambda seconds: complete_within_limits(
                self.connection,
                messages=build_messages(batch[0]),
                model=self.model,
                parameters=parameters,
                deadline_seconds=seconds,
                is_watched=True,
            )
        )
        retries.usage.model = completion.model
        word = find_word(completion.text, self.names)
        if word is None:
            detail = f"The model's answer does not begin with one of: {', '.join(self.names)}."
            raise CallFailed(failures.BAD_OUTPUT, detail)
        if not self.is_weighed:
            return [{name: float(name == word) for name in self.names}]
        chances = compute_word_probabilities(completion.logprobs, self.names)
        if chances is None:
            detail = (
                "The endpoint tells no usable log probabilities: set `score_from` to `answer` to take the word alone."
            )
            raise CallFailed(failures.NOT_CONFIGURED, detail)
        return [chances]


def iter_batches(inputs: Inputs, *, shares_first: bool) -> Iterator[Inputs]:
    """Yield consecutive inputs that one call holds: at most MAX_INPUTS, and of one first text where it shares that."""
    start = 0
    for index in range(1, len(inputs) + 1):
        is_full = index - start == MAX_INPUTS or index == len(inputs)
        if is_full or (shares_first and inputs[index][0] != inputs[start][0]):
            yield inputs[start:index]
            start = index


def build_messages(texts: Sequence[str]) -> list[Mapping[str, object]]:
    """Return a conversation of a text, or of a message and its answer, as guard models read it."""
    roles = ("user", "assistant")
    contents = (text.encode("utf-8", "replace").decode() for text in texts)
    return [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]


def guess_words(settings: Settings) -> list[str]:
    """Return the two words of a guard model one of which is the profile's good or bad label; none for another label."""
    label = str(settings.get("good_label") or settings.get("bad_label") or "")
    return [label, OPPOSITES[label.lower()]] if label.lower() in OPPOSITES else []
