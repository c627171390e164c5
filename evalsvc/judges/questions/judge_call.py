"""Get one structured answer out of an endpoint, whatever its manners, within one deadline and a few calls."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalsvc.judges import failures
from evalsvc.judges.calls.chat import Completion
from evalsvc.judges.calls.counted import complete_within_limits
from evalsvc.judges.calls.endings import LENGTH, name_ending
from evalsvc.judges.failures import CallFailed, ErrorKind
from evalsvc.judges.questions.chances import compute_option_probabilities
from evalsvc.judges.questions.dialects import (
    DEFAULT_MAX_OUTPUT_TOKENS,
    GROWTH,
    Mode,
    RequestDialect,
    adapt_dialect,
    build_parameters,
    describe_schema,
    recall_dialect,
    recall_refusal,
    remember_dialect,
    remember_refusal,
)
from evalsvc.judges.questions.parser import ParsedAnswer, SchemaMismatch, parse
from evalsvc.judges.questions.retries import RetryPolicy
from evaluators.gateway import BOUNDARY, Question
from evaluators.judging.prompts import literal

MAX_ADAPTATIONS = 10
MAX_SHOWN_CHARS = 8000


class JudgeCall:
    """One question to one model."""

    def __init__(
        self,
        retries: RetryPolicy,
        question: Question,
        model: str,
        optional: Mapping[str, object],
        parts: Sequence[Mapping[str, object]] = (),
        *,
        is_watched: bool = True,
    ) -> None:
        self.retries = retries
        self.question = question
        self.model = model
        self.optional = {**optional, **_build_logprob_parameters(question)}
        self.parts = parts
        self.is_watched = is_watched
        self.dialect = self._known = RequestDialect()
        self._limit = question.max_output_tokens
        self._longest = self._limit
        boundary = secrets.token_hex(12)
        self._system, self._user = (
            _sendable(text.replace(BOUNDARY, boundary)) for text in (question.system, question.user)
        )

    async def answer(self) -> ParsedAnswer:
        """Return the answer, checked against the schema; raises CallFailed."""
        connection = self.retries.connection
        if self.is_watched and (refused := recall_refusal(connection, self.model)):
            raise refused
        self.dialect = self._known = await recall_dialect(connection, self.model)
        self._set_limit(self.dialect)
        completion, outcome = await self._ask(self.dialect)
        if isinstance(outcome, ParsedAnswer):
            return outcome
        return await self._request_correction(completion, outcome)

    def _set_limit(self, dialect: RequestDialect) -> None:
        """Set the token limit to what the question wants or the model needs, within what both sides allow."""
        wanted = self.question.max_output_tokens
        most = self.retries.connection.max_output_tokens or max(DEFAULT_MAX_OUTPUT_TOKENS, wanted)
        self._longest = min(most, dialect.most or most)
        self._limit = min(max(wanted, dialect.least, self._limit), self._longest)

    async def _ask(
        self, dialect: RequestDialect, more: tuple[dict[str, str], ...] = ()
    ) -> tuple[Completion, ParsedAnswer | SchemaMismatch]:
        """Return a response and what it says; one that is cut off is requested again with a higher limit."""
        while True:
            completion = await self._complete(dialect, more)
            try:
                return completion, self._read(completion)
            except SchemaMismatch as mismatch:
                if name_ending(completion.finish_reason) != LENGTH:
                    return completion, mismatch
            self._grow()
            dialect = dialect if more else self.dialect

    def _grow(self) -> None:
        """Raise the token limit; raises CallFailed where it cannot be raised."""
        if not self.dialect.limit:
            raise CallFailed(failures.BAD_OUTPUT, "The endpoint cut the answer off, and accepts no token limit.")
        if self._limit >= self._longest:
            detail = (
                f"The model's answer did not end within {self._limit} tokens, thinking included. Raise the "
                "connection's `max_output_tokens` under Connections or PATCH /v1/connections/{id}."
            )
            raise CallFailed(failures.BAD_OUTPUT, detail)
        self._limit = min(GROWTH * self._limit, self._longest)

    def _read(self, done: Completion) -> ParsedAnswer:
        """Parse a response. One that occurs verbatim in the data is a quotation from it, not the judge's answer."""
        parsed = parse(done.text, self.question.schema)
        if parsed.was_repaired and name_ending(done.finish_reason) == LENGTH:
            raise SchemaMismatch("It is not complete.")
        if literal(parsed.written)[1:-1] in self.question.user:
            raise SchemaMismatch("It is copied from the data.")
        if self.question.check is not None and (lacks := self.question.check(parsed.data)):
            raise SchemaMismatch(lacks)
        if (choice := self.question.weighed) is None or parsed.was_repaired:
            return parsed
        return replace(parsed, chances=compute_option_probabilities(done.logprobs, choice.name, choice.options))

    async def _request_correction(self, first: Completion, mismatch: SchemaMismatch) -> ParsedAnswer:
        """Send the model its error once, with instructions for the expected format."""
        asked_for = f"That answer cannot be taken: {mismatch} {describe_schema(self.question.schema)}"
        extra_messages = (
            {"role": "assistant", "content": first.text[:MAX_SHOWN_CHARS]},
            {"role": "user", "content": asked_for},
        )
        plain = replace(self.dialect, mode=Mode.PLAIN)
        _, outcome = await self._ask(plain if not mismatch.has_json else self.dialect, extra_messages)
        if isinstance(outcome, SchemaMismatch):
            raise CallFailed(failures.BAD_OUTPUT, f"The model's answer does not fit, twice. {outcome}")
        if not mismatch.has_json and (plainer := self.dialect.plainer()) is not None:
            # It took the parameter and paid no attention to it.
            await remember_dialect(self.retries.connection, self.model, plainer)
        return replace(outcome, was_repaired=True)

    async def _complete(self, dialect: RequestDialect, more: tuple[dict[str, str], ...] = ()) -> Completion:
        """Make the call in this dialect, or in another that the endpoint takes, and remember that."""
        for _ in range(MAX_ADAPTATIONS):
            try:
                completion = await self._call(dialect, more)
                break
            except CallFailed as failed:
                if failed.was_cut:
                    completion = Completion("", self.model, LENGTH, 0, 0, None, failed.latency_ms)
                    break
                dialect = await self._adapt(dialect, failed)
        else:
            completion = await self._call(dialect, more)
        if not more:
            await self._learn(dialect, completion)
        self.retries.usage.model, self.retries.usage.mode = completion.model, dialect.mode.value
        return completion

    async def _adapt(self, dialect: RequestDialect, failed: CallFailed) -> RequestDialect:
        """Return the dialect for another try; raises the failure where none would help."""
        wanted = self.question.max_output_tokens
        if failed.kind is ErrorKind.CONTEXT_LENGTH and self._limit > wanted:
            # The text and so long an answer are too long together.
            self._longest = self._limit = max(wanted, self._limit // 2)
            return dialect
        other = adapt_dialect(dialect, failed, self.optional, limit=self._limit)
        if other is not None:
            before = self._limit
            self._set_limit(other)
            if self._limit != before or replace(other, least=dialect.least, most=dialect.most) != dialect:
                return other
        if failed.kind is ErrorKind.PARAMETER and not self._known.usage:
            remember_refusal(self.retries.connection, self.model, failed)
        elif failed.code == failures.TIMEOUT and self._limit > max(wanted, dialect.least):
            # Its thinking needs the higher limit: the next question begins with it.
            await remember_dialect(self.retries.connection, self.model, replace(dialect, least=self._limit))
        raise failed

    async def _learn(self, dialect: RequestDialect, completion: Completion) -> None:
        """Remember the dialect of an answer that was not cut off."""
        self.dialect = dialect
        if name_ending(completion.finish_reason) == LENGTH:
            return
        if self._limit > self.question.max_output_tokens:
            dialect = replace(dialect, least=max(dialect.least, self._limit))
        if not dialect.usage:
            dialect = replace(dialect, usage=completion.usage_form)
        self.dialect = dialect
        if dialect != self._known:
            self._known = dialect
            await remember_dialect(self.retries.connection, self.model, dialect)

    async def _call(self, dialect: RequestDialect, more: tuple[dict[str, str], ...]) -> Completion:
        schema = self.question.schema
        system = self._system
        if dialect.mode in (Mode.JSON_OBJECT, Mode.PLAIN):
            system = f"{system}\n\n{describe_schema(schema)}"
        messages: list[Mapping[str, object]] = [*self._opening(system, dialect), *more]
        parameters = build_parameters(
            dialect,
            prompt_id=self.question.prompt_id,
            schema=schema,
            max_tokens=self._limit,
            optional=self.optional,
        )
        return await self.retries.make(
            lambda seconds: complete_within_limits(
                self.retries.connection,
                messages=messages,
                model=self.model,
                parameters=parameters,
                deadline_seconds=seconds,
                reads_tool=dialect.mode is Mode.TOOL,
                is_watched=self.is_watched,
            )
        )

    def _opening(self, system: str, dialect: RequestDialect) -> list[Mapping[str, object]]:
        """Return the first messages; where the model takes no system message, its text precedes the user's."""
        if dialect.takes_system:
            return [{"role": "system", "content": system}, {"role": "user", "content": self._content(self._user)}]
        return [{"role": "user", "content": self._content(f"{system}\n\n{self._user}")}]

    def _content(self, text: str) -> object:
        """Return the content of the user's message: a text, or parts where something is attached."""
        return [{"type": "text", "text": text}, *self.parts] if self.parts else text


def _build_logprob_parameters(question: Question) -> dict[str, object]:
    """Return the parameters that request log probabilities; like other parameters, they are dropped if unsupported."""
    if question.weighed is None:
        return {}
    return {"logprobs": True, "top_logprobs": 5 if len(question.weighed.options) < 5 else 20}


def _sendable(text: str) -> str:
    """Return a text that can be written as UTF-8: half a surrogate pair cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
