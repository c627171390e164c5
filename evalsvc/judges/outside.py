"""What evaluators may ask of servers elsewhere, for one account: its connections, limits, budget and cache."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from functools import lru_cache, partial
from typing import Any, TypeVar

from django.conf import settings as django_settings

from evalsvc.judges import cache
from evalsvc.judges.asking import MAX_CALLS_AT_ONCE, Asking, Tries
from evalsvc.judges.bill import Bill, as_no_score, prompt_hash
from evalsvc.judges.cache import Kept, digest_of
from evalsvc.judges.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.moderation import LIMITED_AS, moderation
from evalsvc.judges.selectors import connection_facts, default_connection_facts, give_back_database
from evaluators.base import CannotScore, FailedForNow, JSONValue, Settings
from evaluators.outside import Answer, Moderation, Question

T = TypeVar("T")
WAIT_IN_PLACE_SECONDS = 2.0
"""For its turn a question waits so long in its thread; a longer wait is better spent in the database."""
MAX_AT_ONCE = 8
OPTIONAL = ("temperature", "seed", "top_p", "reasoning_effort")
"""Settings that are sent as parameters where a profile sets them; what an endpoint does not know is left out."""


def outside_for(
    account_id: int, *, deadline_seconds: float | None = None, patience_seconds: float = WAIT_IN_PLACE_SECONDS
) -> AccountOutside:
    """Return what one score of this account may ask; the deadline is for all its questions together, from now."""
    seconds = django_settings.JUDGE_DEADLINE_SECONDS if deadline_seconds is None else deadline_seconds
    return AccountOutside(account_id, time.monotonic() + seconds, patience_seconds)


class AccountOutside:
    """See `evaluators.outside.Outside`. Used by one score."""

    def __init__(self, account_id: int, until: float, patience_seconds: float) -> None:
        self._waiting = Waiting(account_id, until, patience_seconds)

    async def ask(self, question: Question, settings: Settings, *, sample_number: int = 0) -> Answer:
        """Ask a judge once."""
        return await _in_thread(partial(self._waiting.ask, question, settings, sample_number=sample_number))

    async def ask_all(self, questions: Sequence[Question], settings: Settings) -> list[Answer]:
        """Ask several questions at once, at most eight and no more than the connection takes."""
        return await _in_thread(partial(self._waiting.ask_all, questions, settings))

    async def moderate(self, text: str, settings: Settings) -> Moderation:
        """Ask the connection's moderation endpoint; `model` is left to it where the settings name none."""
        return await _in_thread(partial(self._waiting.moderate, text, settings))

    async def post(self, url: str, payload: Mapping[str, JSONValue], settings: Settings) -> JSONValue:
        """Send a signed request to the account's own server."""
        return await _in_thread(partial(self._waiting.post, url, payload, settings))


async def _in_thread(call: Callable[[], T]) -> T:
    context = copy_context()
    return await asyncio.get_running_loop().run_in_executor(_threads(os.getpid()), lambda: context.run(call))


@lru_cache(maxsize=1)
def _threads(pid: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_CALLS_AT_ONCE, thread_name_prefix="judge")


class Waiting:
    """What waits for answers; its methods may be called from several threads."""

    def __init__(self, account_id: int, until: float, patience_seconds: float) -> None:
        self.account_id = account_id
        self.until = until
        self.patience_seconds = patience_seconds
        self._connections: dict[str | None, ConnectionFacts] = {}
        self._lock = threading.Lock()

    def ask(self, question: Question, settings: Settings, *, sample_number: int = 0) -> Answer:
        """Ask a judge once."""
        connection = self._connection(settings)
        model, optional = _text(settings, "model") or connection.model, _optional(settings)
        bill = Bill(connection, model, prompt_hash=prompt_hash(question))
        until = self._until(settings, connection)
        asked = {
            "prompt_id": question.prompt_id,
            "model": model,
            "parameters": {**optional, "max_output_tokens": question.max_output_tokens},
            "schema": question.schema,
            "system": question.system,
            "user": question.user,
            "sample_number": sample_number,
        }
        digest = None if settings.get("no_cache") is True else digest_of(connection, asked)
        try:
            with cache.turn(self.account_id, digest, until=until) if digest else nullcontext() as kept:
                if kept is not None:
                    return Answer(kept.data, _at_no_cost(kept.provenance))
                tries = Tries(connection, model, bill, until=until, patience_seconds=self.patience_seconds)
                parsed = Asking(tries, question, model, optional).answer()
                provenance = bill.provenance(cached=False, repaired=parsed.was_repaired)
                if digest:
                    cache.keep(self.account_id, digest, Kept(parsed.data, provenance))
                return Answer(parsed.data, provenance)
        except CallFailed as failed:
            raise as_no_score(failed, bill) from None

    def ask_all(self, questions: Sequence[Question], settings: Settings) -> list[Answer]:
        """Ask several questions at once, at most eight and no more than the connection takes.

        What the answered ones have used is in the `extra` of the failure, as `answered`.
        """
        if not questions:
            return []
        connection = self._connection(settings)
        n_threads = min(MAX_AT_ONCE, len(questions), connection.max_concurrency or MAX_AT_ONCE)
        if n_threads == 1:
            outcomes = []
            for question in questions:
                outcomes.append(self._outcome(question, settings))
                if isinstance(outcomes[-1], CannotScore):
                    break
        else:
            with ThreadPoolExecutor(n_threads, thread_name_prefix="judge") as pool:
                outcomes = list(pool.map(lambda question: self._outcome(question, settings), questions))
        answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
        failed = next((outcome for outcome in outcomes if isinstance(outcome, CannotScore)), None)
        if failed is not None:
            failed.extra = {**(failed.extra or {}), "answered": _sum_of(answers)}
            raise failed
        return answers

    def moderate(self, text: str, settings: Settings) -> Moderation:
        """Ask the connection's moderation endpoint; `model` is left to it where the settings name none."""
        connection = self._connection(settings)
        model = _text(settings, "model")
        bill = Bill(connection, model or LIMITED_AS)
        until = self._until(settings, connection)
        tries = Tries(connection, model or LIMITED_AS, bill, until=until, patience_seconds=self.patience_seconds)
        try:
            found = tries.make(lambda seconds: moderation(connection, text, model=model, seconds=seconds))
        except CallFailed as failed:
            raise as_no_score(failed, bill) from None
        bill.model = found.model
        return Moderation(found.flagged, found.categories, bill.provenance(cached=False, repaired=False))

    def post(self, url: str, payload: Mapping[str, JSONValue], settings: Settings) -> JSONValue:
        """Send a signed request to the account's own server."""
        from evalsvc.judges.webhooks import post_signed

        return post_signed(self.account_id, url, payload, settings)

    def _outcome(self, question: Question, settings: Settings) -> Answer | CannotScore:
        try:
            return self.ask(question, settings)
        except CannotScore as exc:
            return exc

    def _until(self, settings: Settings, connection: ConnectionFacts) -> float:
        """Return when one question must be done: its own timeout, the connection's, or the score's, what is first."""
        asked = settings.get("timeout_seconds")
        seconds = connection.timeout_seconds
        if isinstance(asked, int | float) and not isinstance(asked, bool) and asked > 0:
            seconds = min(seconds, asked)
        until = min(self.until, time.monotonic() + seconds)
        if until <= time.monotonic():
            raise FailedForNow("timeout", "The time for this score was up before its last question was asked.")
        return until

    def _connection(self, settings: Settings) -> ConnectionFacts:
        ref = _text(settings, "connection")
        with self._lock:
            if ref not in self._connections:
                self._connections[ref] = self._looked_up(ref)
            return self._connections[ref]

    def _looked_up(self, ref: str | None) -> ConnectionFacts:
        try:
            if ref is None:
                return default_connection_facts(account_id=self.account_id)
            return connection_facts(account_id=self.account_id, ref=ref)
        except CallFailed as failed:
            raise as_no_score(failed) from None
        finally:
            give_back_database()


def _text(settings: Settings, name: str) -> str | None:
    value = settings.get(name)
    return value if isinstance(value, str) and value else None


def _optional(settings: Settings) -> dict[str, Any]:
    return {name: settings[name] for name in OPTIONAL if settings.get(name) is not None}


def _at_no_cost(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the provenance of an answer that is given again: nothing was called, and nothing is owed."""
    counted = ("calls", "input_tokens", "output_tokens", "latency_ms", "cost")
    nothing = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "latency_ms": 0.0, "cost": 0.0}
    return {**provenance, **nothing, "cached": True, "original_usage": {name: provenance[name] for name in counted}}


def _sum_of(answers: Sequence[Answer]) -> dict[str, Any]:
    parts: list[Mapping[str, Any]] = [answer.provenance for answer in answers]
    sums: dict[str, Any] = {
        name: sum(part[name] for part in parts) for name in ("calls", "input_tokens", "output_tokens")
    }
    costs = [part["cost"] for part in parts]
    return sums | {"cost": None if None in costs else sum(costs)}
