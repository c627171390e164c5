"""What a family may ask of servers elsewhere. The service brings the answers; no client lives here.

Every call is made within one account's means: its connections, limits, budget and cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from evaluators.values import Attached, FailedForNow, JSONValue, Settings

__all__ = ["BOUNDARY", "Answer", "FailedForNow", "JudgeGateway", "Moderation", "NotYet", "Question"]

AnswerCheck: TypeAlias = Callable[[Mapping[str, JSONValue]], str | None] | None
BOUNDARY = "{{boundary}}"
"""Stands in a question's messages where the marks around the data are; see `Question`."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A property of the answer whose options are wanted with their chances, as far as the endpoint tells them.

    Options are JSON texts without their quotes: `true`, `4`, `good`.
    """

    name: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    r"""One structured question to a judge.

    `system` and `user` are the two messages, complete. `schema` is a strict JSON Schema of the answer: every property
    required, `additionalProperties: false`, in the order in which the judge should think. `prompt_id` names the prompt
    and its version (`faithfulness/1`); what scores are compared over must not change under one `prompt_id`.

    Every `BOUNDARY` in `system` and `user` is replaced by a random word that is drawn for each request, after the
    answer was looked for in the cache: data that were written before it cannot contain it. So that the data cannot
    borrow it either, they must not contain the text of `BOUNDARY` itself; whoever writes a question sees to that, for
    example by writing the data as JSON with every `{` as `\u007b`.

    `attachments` are fetched when the question is asked, and stand after `user`; a connection that is not marked as
    able to read them answers `unsupported_input`.

    `check` says what is missing in an answer that fits the schema, or returns None. Such an answer is asked for once
    more with these words, and is `bad_output` when it still lacks something; so nothing of the data may stand in them.
    """

    prompt_id: str
    system: str
    user: str
    schema: Mapping[str, JSONValue]
    max_output_tokens: int = 1024
    check: AnswerCheck = field(default=None, compare=False)
    weighed: Weighed | None = None
    attachments: tuple[Attached, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A judge's answer: `data` has been checked against the question's schema. `provenance` goes into `Score.extra`.
    `chances` are those of a weighed question's options; None where the endpoint does not tell them.

    `provenance` is JSON: connection, model as the endpoint named it, prompt_hash, mode, calls, input_tokens,
    output_tokens, cost (null where prices are not known), latency_ms, cached, repaired, and `usage_estimated` where the
    endpoint did not say what it used. An answer from the cache has cost nothing; what it had cost is in
    `original_usage`. Families show it as `judge` in their `extra`, where the service looks for usage.
    """

    data: Mapping[str, JSONValue]
    provenance: Mapping[str, JSONValue] = field(default_factory=dict)
    chances: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Moderation:
    """What a moderation endpoint says of a text: a chance of each category, 0 to 1, and what it would flag."""

    flagged: bool
    categories: Mapping[str, float]
    provenance: Mapping[str, JSONValue] = field(default_factory=dict)


class NotYet(FailedForNow):
    """It is not this question's turn: `rate_limited`, and in how many seconds to come again.

    The service then asks again later by itself; a family lets it pass.
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
    """The servers that a family may ask. `settings` are the effective ones, of which these name whom and how to ask:

    `connection` (its name; else the account's default one), `model`, `temperature`, `timeout_seconds`, `no_cache`.

    Every method raises CannotScore (`not_configured`, `refused`, `budget_exhausted`, `input_too_long`) or FailedForNow
    (`timeout`, `rate_limited`, `bad_output`, `connection`), with what was used in `extra`, as `judge`.
    """

    async def ask(self, question: Question, settings: Settings, *, sample_number: int = 0) -> Answer:
        """Ask a judge once. Answers to the same question are remembered by `sample_number`, for this account only."""
        ...

    async def ask_all(self, questions: Sequence[Question], settings: Settings) -> list[Answer]:
        """Ask several questions, some at a time, and return the answers in their order; the first failure is raised."""
        ...

    async def moderate(self, text: str, settings: Settings) -> Moderation:
        """Ask the connection's moderation endpoint."""
        ...

    async def post(self, url: str, payload: Mapping[str, JSONValue], settings: Settings) -> JSONValue:
        """Send a signed request to the account's own server and return its JSON answer."""
        ...
