"""The interface through which a family calls external servers. The service supplies the implementation.

Every call uses one account's resources: its connections, limits, budget and cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from evaluators.values import Attachment, JSONValue, Settings, TransientError

__all__ = [
    "BOUNDARY",
    "Answer",
    "Classification",
    "JudgeGateway",
    "Moderation",
    "NotYet",
    "Question",
    "TransientError",
]

AnswerCheck: TypeAlias = Callable[[Mapping[str, JSONValue]], str | None] | None
BOUNDARY = "{{boundary}}"
"""Stands in a question's messages where the marks around the data are; see `Question`."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A property of the answer whose options are requested with their probabilities, if the endpoint reports them.

    Options are JSON texts without their quotes: `true`, `4`, `good`.
    """

    name: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    r"""One structured question to a judge.

    `system` and `user` are the two messages, complete. `schema` is a strict JSON Schema of the answer: every property
    required, `additionalProperties: false`, in the order in which the judge should reason. `prompt_id` identifies the
    prompt and its version (`faithfulness/1`); a change that affects the comparison of scores requires a new
    `prompt_id`.

    Every `BOUNDARY` in `system` and `user` is replaced by a random word that is drawn for each request, after the cache
    lookup: data written before it cannot contain it. So that the data cannot use it either, they must not contain the
    text of `BOUNDARY` itself; the author of a question is responsible for that, for example by writing the data as JSON
    with every `{` as `\u007b`.

    `attachments` are fetched when the question is sent, and follow `user`; a connection that is not marked as able to
    read them answers `unsupported_input`.

    `check` returns a description of what is missing in an answer that fits the schema, or None. Such an answer is
    requested once more with this description, and is `bad_output` if it is still incomplete; the description must
    therefore not contain any of the data.
    """

    prompt_id: str
    system: str
    user: str
    schema: Mapping[str, JSONValue]
    max_output_tokens: int = 1024
    check: AnswerCheck = field(default=None, compare=False)
    weighed: Weights | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A judge's answer: `data` has been checked against the question's schema. `provenance` goes into `Score.extra`.

    `chances` are the probabilities of a weighed question's options; None if the endpoint does not report them.

    `provenance` is JSON: connection, model as the endpoint named it, prompt_hash, mode, calls, input_tokens,
    output_tokens, cost (null if prices are not known), latency_ms, cached, repaired, `reasoning_tokens` if the endpoint
    tells of thinking, and `usage_estimated` if it did not report its usage. An answer from the cache costs nothing; its
    original cost is in `original_usage`. Families return it as `judge` in their `extra`, where the service reads it.
    """

    data: Mapping[str, JSONValue]
    provenance: Mapping[str, JSONValue] = field(default_factory=dict)
    chances: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Moderation:
    """A moderation endpoint's result for a text: a probability for each category, 0 to 1, and its flags."""

    flagged: bool
    categories: Mapping[str, float]
    provenance: Mapping[str, JSONValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Classification:
    """A classifier's result: for each input the probability of every label that the model names, 0 to 1.

    A model that gives one score instead has the label `SCORE`. `is_weighed` is False where the model answered in words
    and told no probabilities: the word that it wrote has 1, the others 0.
    """

    labels: tuple[Mapping[str, float], ...]
    provenance: Mapping[str, JSONValue] = field(default_factory=dict)
    is_weighed: bool = True


SCORE = "score"


class NotYet(TransientError):
    """The question must wait: `rate_limited`, or the endpoint is away, with the seconds until the next attempt.

    The service retries automatically; a family lets the exception propagate.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        extra: Mapping[str, JSONValue] | None = None,
        retry_after_seconds: float = 0.0,
    ) -> None:
        super().__init__(code, detail, extra=extra)
        self.retry_after_seconds = retry_after_seconds


class JudgeGateway(Protocol):
    """The servers that a family can call. The effective `settings` determine the connection and the request options:

    `connection` (its name; else the account's default one), `model`, `temperature`, `timeout_seconds`, `no_cache`.

    Every method raises CannotScore (`not_configured`, `refused`, `budget_exhausted`, `input_too_long`) or FailedForNow
    (`timeout`, `rate_limited`, `bad_output`, `connection`), with the usage in `extra`, as `judge`.
    """

    async def ask(self, question: Question, settings: Settings, *, sample_number: int = 0) -> Answer:
        """Query a judge once. Answers to the same question are cached by `sample_number`, for this account only."""
        ...

    async def ask_all(self, questions: Sequence[Question], settings: Settings) -> list[Answer]:
        """Send several questions, some concurrently, and return the answers in their order.

        Raises the first failure.
        """
        ...

    async def moderate(self, text: str, settings: Settings) -> Moderation:
        """Call the connection's moderation endpoint."""
        ...

    async def classify(self, inputs: Sequence[tuple[str, ...]], settings: Settings) -> Classification:
        """Classify texts, or pairs of texts, by the classifier or the guard model of the connection.

        Of the settings it also reads `labels`, the names of a model's classes in their order, or the words with which a
        guard model answers, and `score_from`.
        """
        ...

    async def post(self, url: str, payload: Mapping[str, JSONValue], settings: Settings) -> JSONValue:
        """Send a signed request to the account's own server and return its JSON answer."""
        ...
