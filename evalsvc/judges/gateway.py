"""Gateway for evaluators to external servers, for one account: its connections, limits, budget and cache."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from django.conf import settings as django_settings

from evalsvc.judges.calls.chat import require_answering
from evalsvc.judges.calls.moderation import LIMITED_AS, request_moderation
from evalsvc.judges.connections.facts import CHAT, ConnectionFacts
from evalsvc.judges.connections.memory import read_through
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.questions import cache
from evalsvc.judges.questions.attachments import AttachmentContent, check_senses, fetch
from evalsvc.judges.questions.cache import CachedAnswer, Flight, compute_question_digest
from evalsvc.judges.questions.classification import Classifier
from evalsvc.judges.questions.judge_call import JudgeCall
from evalsvc.judges.questions.retries import RetryPolicy
from evalsvc.judges.questions.usage import Usage, prompt_hash, to_cannot_score
from evalsvc.judges.selectors import connection_facts, default_connection_facts
from evalsvc.judges.webhooks.signing import post_signed
from evaluators.base import CannotScore, JSONValue, Settings, TransientError
from evaluators.gateway import Answer, Classification, Moderation, NotYet, Question
from evaluators.judging.readings import sum_reasoning
from evaluators.values import Attachment

WAIT_IN_PLACE_SECONDS = 2.0
"""For the connection's limits a question waits so long in place; a longer wait is better spent in the database."""
MAX_AT_ONCE = 8
OPTIONAL = ("temperature", "seed", "top_p", "reasoning_effort")
"""Settings that are sent as parameters where a profile sets them; what an endpoint does not know is left out."""


def gateway_for(
    account_id: int, *, deadline_seconds: float | None = None, patience_seconds: float = WAIT_IN_PLACE_SECONDS
) -> AccountGateway:
    """Return the gateway for one score of this account; the deadline covers all of its questions together, from now."""
    seconds = django_settings.JUDGE_DEADLINE_SECONDS if deadline_seconds is None else deadline_seconds
    return AccountGateway(account_id, time.monotonic() + seconds, patience_seconds)


class AccountGateway:
    """See `evaluators.gateway.JudgeGateway`. Used by one score."""

    def __init__(self, account_id: int, until: float, patience_seconds: float) -> None:
        self.account_id = account_id
        self.until = until
        self.patience_seconds = patience_seconds
        self._connections: dict[str | None, ConnectionFacts] = {}
        self._fetched: dict[tuple[Attachment, ...], tuple[AttachmentContent, ...]] = {}

    async def ask(self, question: Question, settings: Settings, *, sample_number: int = 0) -> Answer:
        """Send one question to a judge and return its answer."""
        connection = await self._answering_connection(settings)
        model, optional = _text(settings, "model") or connection.model, _optional(settings)
        usage = Usage(connection, model, prompt_hash=prompt_hash(question))
        until = self._until(settings, connection)
        fetched = await self._fetched_for(question, connection, until)
        question_fields = {
            "prompt_id": question.prompt_id,
            "model": model,
            "parameters": {**optional, "max_output_tokens": question.max_output_tokens},
            "schema": question.schema,
            "system": question.system,
            "user": question.user,
            "sample_number": sample_number,
            **_endpoint_fields(connection),
            **({"attachments": [attachment.digest for attachment in fetched]} if fetched else {}),
            **({"weighed": [choice.name, *choice.options]} if (choice := question.weighed) else {}),
        }
        digest = None if settings.get("no_cache") is True else compute_question_digest(connection, question_fields)
        try:
            async with (
                cache.single_flight(self.account_id, digest, until=until) if digest else nullcontext(Flight()) as flight
            ):
                if flight.found is not None:
                    return Answer(
                        flight.found.data, _to_cached_provenance(flight.found.provenance), flight.found.chances
                    )
                retries = RetryPolicy(connection, model, usage, until=until, patience_seconds=self.patience_seconds)
                parts = [attachment.part() for attachment in fetched]
                parsed = await JudgeCall(retries, question, model, optional, parts).answer()
                provenance = usage.provenance(cached=False, repaired=parsed.was_repaired)
                flight.keep(CachedAnswer(parsed.data, provenance, parsed.chances))
                return Answer(parsed.data, provenance, parsed.chances)
        except CallFailed as failed:
            raise to_cannot_score(failed, usage) from None

    async def ask_all(self, questions: Sequence[Question], settings: Settings) -> list[Answer]:
        """Send several questions concurrently, at most eight and at most the connection's limit.

        If one fails, the usage of the answered questions is in the `extra` of the exception, as `answered`.
        """
        if not questions:
            return []
        connection = await self._connection(settings)
        n_at_once = min(MAX_AT_ONCE, len(questions), connection.max_concurrency or MAX_AT_ONCE)
        outcomes = await self._outcomes(questions, settings, n_at_once)
        answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
        failures = [outcome for outcome in outcomes if isinstance(outcome, CannotScore)]
        if failures:
            raise _merge_failures(failures, answers)
        return answers

    async def moderate(self, text: str, settings: Settings) -> Moderation:
        """Query the connection's moderation endpoint; the endpoint chooses the `model` if the settings name none."""
        connection = await self._answering_connection(settings)
        model = _text(settings, "model")
        limited_as = model or LIMITED_AS
        usage = Usage(connection, limited_as)
        until = self._until(settings, connection)
        retries = RetryPolicy(connection, limited_as, usage, until=until, patience_seconds=self.patience_seconds)
        try:
            result = await retries.make(
                lambda seconds: request_moderation(connection, text, model=model, seconds=seconds)
            )
        except CallFailed as failed:
            raise to_cannot_score(failed, usage) from None
        usage.model = result.model
        return Moderation(result.flagged, result.categories, usage.provenance(cached=False, repaired=False))

    async def classify(self, inputs: Sequence[tuple[str, ...]], settings: Settings) -> Classification:
        """Classify texts or pairs of texts, several calls at once where one does not hold them all."""
        connection = await self._connection(settings)
        model = _text(settings, "model") or connection.model
        usage = Usage(connection, model)
        retries = partial(
            RetryPolicy,
            connection,
            model,
            usage,
            until=self._until(settings, connection),
            patience_seconds=self.patience_seconds,
        )
        n_at_once = min(MAX_AT_ONCE, connection.max_concurrency or MAX_AT_ONCE)
        try:
            labels = await Classifier(connection, model, settings, retries).classify(inputs, n_at_once=n_at_once)
        except CallFailed as failed:
            raise to_cannot_score(failed, usage) from None
        is_weighed = connection.is_classifier or settings.get("score_from") != "answer"
        return Classification(tuple(labels), usage.provenance(cached=False, repaired=False), is_weighed)

    async def post(self, url: str, payload: Mapping[str, JSONValue], settings: Settings) -> JSONValue:
        """Send a signed request to the account's own server."""
        return await post_signed(self.account_id, url, payload, settings)

    async def _outcomes(
        self, questions: Sequence[Question], settings: Settings, n_at_once: int
    ) -> list[Answer | CannotScore]:
        """Return the outcome of each question, in order; sequential execution stops at the first failure."""
        outcomes: dict[int, Answer | CannotScore] = {}
        pending = iter(enumerate(questions))

        async def work() -> None:
            for index, question in pending:
                try:
                    outcomes[index] = await self.ask(question, settings)
                except CannotScore as exc:
                    outcomes[index] = exc
                    if n_at_once == 1:
                        return

        if n_at_once == 1:
            await work()
        else:
            workers = [asyncio.create_task(work()) for _ in range(n_at_once)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
        return [outcomes[index] for index in sorted(outcomes)]

    async def _fetched_for(
        self, question: Question, connection: ConnectionFacts, until: float
    ) -> tuple[AttachmentContent, ...]:
        """Return what is attached to a question, fetched once for all its samples."""
        if not (attached := question.attachments):
            return ()
        check_senses(connection, attached)
        if attached not in self._fetched:
            self._fetched[attached] = await fetch(attached, until=until)
        return self._fetched[attached]

    def _until(self, settings: Settings, connection: ConnectionFacts) -> float:
        """Return when one question must be done: its own timeout, the connection's, or the score's, what is first."""
        timeout = settings.get("timeout_seconds")
        seconds = connection.timeout_seconds
        if isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0:
            seconds = min(seconds, timeout)
        until = min(self.until, time.monotonic() + seconds)
        if until <= time.monotonic():
            raise TransientError("timeout", "The time for this score was up before its last question was asked.")
        return until

    async def _connection(self, settings: Settings) -> ConnectionFacts:
        ref = _text(settings, "connection")
        if ref not in self._connections:
            try:
                self._connections[ref] = await read_through(self.account_id, "connection", ref, self._reading(ref))
            except CallFailed as failed:
                raise to_cannot_score(failed) from None
        return self._connections[ref]

    async def _answering_connection(self, settings: Settings) -> ConnectionFacts:
        connection = await self._connection(settings)
        try:
            require_answering(connection)
        except CallFailed as failed:
            raise to_cannot_score(failed) from None
        return connection

    def _reading(self, ref: str | None) -> partial[ConnectionFacts]:
        if ref is None:
            return partial(default_connection_facts, account_id=self.account_id)
        return partial(connection_facts, account_id=self.account_id, ref=ref)


def _text(settings: Settings, name: str) -> str | None:
    value = settings.get(name)
    return value if isinstance(value, str) and value else None


def _optional(settings: Settings) -> dict[str, JSONValue]:
    return {name: settings[name] for name in OPTIONAL if settings.get(name) is not None}


def _endpoint_fields(connection: ConnectionFacts) -> dict[str, object]:
    """Return what a connection adds to a request, as part of the question; nothing where it adds nothing."""
    added = {"extra_body": connection.extra_body, "query": connection.query}
    protocol = {} if connection.protocol == CHAT else {"protocol": connection.protocol}
    return {**protocol, **{name: dict(value) for name, value in added.items() if value}}


def _to_cached_provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the provenance of an answer that is given again: nothing was called, and nothing is owed."""
    marks = ("reasoning_tokens", "usage_estimated")
    usage_keys = ("calls", "input_tokens", "output_tokens", "latency_ms", "cost", *marks)
    nothing = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "latency_ms": 0.0, "cost": 0.0}
    used = {name: provenance[name] for name in usage_keys if name in provenance}
    fields = {name: value for name, value in provenance.items() if name not in marks}
    return {**fields, **nothing, "cached": True, "original_usage": used}


def _merge_failures(failures: Sequence[CannotScore], answers: Sequence[Answer]) -> CannotScore:
    """Return the first failure, which tells what all that failed have used, and what the answered ones have.

    One that no later attempt mends comes before one that waits.
    """
    usages: list[Any] = [used for failed in failures if isinstance(used := (failed.extra or {}).get("judge"), dict)]
    first = next((failed for failed in failures if not isinstance(failed, NotYet)), failures[0])
    judge_extra = {"judge": {**usages[0], **_sum_usage(usages)}} if len(usages) > 1 else {}
    first.extra = {
        **(first.extra or {}),
        **judge_extra,
        "answered": _sum_usage([answer.provenance for answer in answers]),
    }
    return first


def _sum_usage(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sums: dict[str, Any] = {
        name: sum(part[name] for part in parts) for name in ("calls", "input_tokens", "output_tokens")
    }
    costs = [part["cost"] for part in parts]
    estimate_flag = {"usage_estimated": True} if any(part.get("usage_estimated") for part in parts) else {}
    thought = sum_reasoning(parts)
    reasoning = {"reasoning_tokens": thought} if thought else {}
    return sums | {"cost": None if None in costs else sum(costs)} | reasoning | estimate_flag
