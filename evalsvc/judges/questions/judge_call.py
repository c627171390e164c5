"""Get one structured answer out of an endpoint, whatever its manners, within one deadline and a few calls."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalsvc.judges import failures
from evalsvc.judges.calls.chat import Completion
from evalsvc.judges.calls.counted import complete_within_limits
from evalsvc.judges.calls.endings import LENGTH, name_ending
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.questions.chances import compute_option_probabilities
from evalsvc.judges.questions.dialects import (
    Mode,
    RequestDialect,
    adapt_dialect,
    build_parameters,
    describe_schema,
    recall_dialect,
    remember_dialect,
)
from evalsvc.judges.questions.parser import ParsedAnswer, SchemaMismatch, parse
from evalsvc.judges.questions.retries import RetryPolicy
from evalsvc.judges.questions.usage import is_too_long
from evaluators.gateway import BOUNDARY, Question
from evaluators.judging.prompts import literal

MAX_ADAPTATIONS = 6
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
        self.max_tokens = question.max_output_tokens
        self.dialect = self._known = RequestDialect()
        boundary = secrets.token_hex(12)
        self._system, self._user = (
            _sendable(text.replace(BOUNDARY, boundary)) for text in (question.system, question.user)
        )

    async def answer(self) -> ParsedAnswer:
        """Return the answer, checked against the schema; raises CallFailed."""
        self.dialect = self._known = await recall_dialect(self.retries.connection, self.model)
        completion = await self._complete(self.dialect)
        try:
            return self._read(completion)
        except SchemaMismatch as mismatch:
            if name_ending(completion.finish_reason) == LENGTH:
                return await self._retry_with_more_tokens()
            return await self._request_correction(completion, mismatch)

    def _read(self, done: Completion) -> ParsedAnswer:
        """Parse a response. One that occurs verbatim in the data is a quotation from it, not the judge's answer."""
        parsed = parse(done.text, self.question.schema)
        if literal(parsed.written)[1:-1] in self.question.user:
            raise SchemaMismatch("It is copied from the data.")
        if self.question.check is not None and (lacks := self.question.check(parsed.data)):
            raise SchemaMismatch(lacks)
        if (choice := self.question.weighed) is None or parsed.was_repaired:
            return parsed
        return replace(parsed, chances=compute_option_probabilities(done.logprobs, choice.name, choice.options))

    async def _retry_with_more_tokens(self) -> ParsedAnswer:
        """Retry once with twice the token limit."""
        self.max_tokens *= 2
        completion = await self._complete(self.dialect)
        try:
            return self._read(completion)
        except SchemaMismatch as mismatch:
            if name_ending(completion.finish_reason) == LENGTH:
                detail = f"The model's answer did not end within {self.max_tokens} tokens."
                raise CallFailed(failures.BAD_OUTPUT, detail) from None
            return await self._request_correction(completion, mismatch)

    async def _request_correction(self, first: Completion, mismatch: SchemaMismatch) -> ParsedAnswer:
        """Send the model its error once, with instructions for the expected format."""
        asked_for = f"That answer cannot be taken: {mismatch} {describe_schema(self.question.schema)}"
        extra_messages = (
            {"role": "assistant", "content": first.text[:MAX_SHOWN_CHARS]},
            {"role": "user", "content": asked_for},
        )
        plain = RequestDialect(Mode.PLAIN, self.dialect.limit, self.dialect.dropped)
        completion = await self._complete(plain if not mismatch.has_json else self.dialect, extra_messages)
        try:
            parsed = self._read(completion)
        except SchemaMismatch as again:
            raise CallFailed(failures.BAD_OUTPUT, f"The model's answer does not fit, twice. {again}") from None
        if not mismatch.has_json and (plainer := self.dialect.plainer()) is not None:
            # It took the parameter and paid no attention to it.
            remember_dialect(self.retries.connection, self.model, plainer)
        return replace(parsed, was_repaired=True)

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
                other = None if is_too_long(failed) else adapt_dialect(dialect, failed, self.optional)
                if other is None:
                    raise
                dialect = other
        else:
            completion = await self._call(dialect, more)
        if not more:
            self.dialect = dialect
            if dialect != self._known:
                self._known = dialect
                remember_dialect(self.retries.connection, self.model, dialect)
        self.retries.usage.model, self.retries.usage.mode = completion.model, dialect.mode.value
        return completion

    async def _call(self, dialect: RequestDialect, more: tuple[dict[str, str], ...]) -> Completion:
        schema = self.question.schema
        system = self._system
        if dialect.mode in (Mode.JSON_OBJECT, Mode.PLAIN):
            system = f"{system}\n\n{describe_schema(schema)}"
        user_message: dict[str, object] = {"role": "user", "content": self._content()}
        messages: list[Mapping[str, object]] = [{"role": "system", "content": system}, user_message, *more]
        parameters = build_parameters(
            dialect,
            prompt_id=self.question.prompt_id,
            schema=schema,
            max_tokens=self.max_tokens,
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

    def _content(self) -> object:
        """Return the user's message: a text, or parts where something is attached."""
        return [{"type": "text", "text": self._user}, *self.parts] if self.parts else self._user


def _build_logprob_parameters(question: Question) -> dict[str, object]:
    """Return the parameters that request log probabilities; like other parameters, they are dropped if unsupported."""
    if question.weighed is None:
        return {}
    return {"logprobs": True, "top_logprobs": 5 if len(question.weighed.options) < 5 else 20}


def _sendable(text: str) -> str:
    """Return a text that can be written as UTF-8: half a surrogate pair cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
