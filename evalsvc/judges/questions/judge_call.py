"""Get one structured answer out of an endpoint, whatever its manners, within one deadline and a few calls."""

from __future__ import annotations

import asyncio
import random
import resource
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from evalsvc.judges import failures
from evalsvc.judges.calls.chat import Completion
from evalsvc.judges.calls.counted import Billed, ask
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.ledger.breaker import Shut
from evalsvc.judges.questions.dialects import Mode, Ways, adapted, form_in_words, parameters_for, recall, remember
from evalsvc.judges.questions.parsing import Misfit, Parsed, parse
from evalsvc.judges.questions.usage import Bill, is_too_long
from evaluators.judging.prompts import literal
from evaluators.outside import BOUNDARY, Question

T = TypeVar("T", bound=Billed)
MORE_TRIES = 2
"""After a failure that may pass: 5xx, a broken connection, a 429 whose wait is short."""
MAX_ADAPTATIONS = 6
FIRST_PAUSE_SECONDS = 0.25
SHORTEST_CALL_SECONDS = 0.02
SHORTEST_WAIT_SECONDS = 0.02
MAX_SHOWN_CHARS = 8000
MOST_CALLS_AT_ONCE = 4096
"""Of one event loop, for all accounts. Each is a socket: where a process may open less than twice as many files, half
of those. The runner of judges has the limit raised as far as it may, so that no endpoint that hangs takes all."""
_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class Tries:
    """One endpoint within one deadline: what may pass is tried again, and every call is on the bill.

    `until` is of time.monotonic(). For its turn it waits `patience_seconds` in all; a longer wait is the caller's.
    """

    def __init__(
        self, connection: ConnectionFacts, limited_as: str, bill: Bill, *, until: float, patience_seconds: float
    ) -> None:
        self.connection = connection
        self.limited_as = limited_as
        self.bill = bill
        self.until = until
        self.patience_seconds = patience_seconds
        self._failed = 0

    async def make(self, call: Callable[[float], Awaitable[T]]) -> T:
        """Make a call, which is given its seconds; again when that may help. Raises CallFailed."""
        while True:
            try:
                return await self._once(call)
            except Shut:
                raise
            except CallFailed as failed:
                await self._wait_for_more(failed)

    async def _once(self, call: Callable[[float], Awaitable[T]]) -> T:
        began = time.perf_counter()
        try:
            async with self._permit():
                done = await call(self.seconds_left())
        except CallFailed as failed:
            if _was_sent(failed):
                self.bill.add(failed, failed.latency_ms)
            raise
        self.bill.add(done, (time.perf_counter() - began) * 1000)
        return done

    @asynccontextmanager
    async def _permit(self) -> AsyncIterator[None]:
        semaphore = _semaphore_of_loop()
        try:
            async with asyncio.timeout(self.seconds_left()):
                await semaphore.acquire()
        except TimeoutError:
            detail = "The time was up before this process had a call to spare."
            raise CallFailed(failures.TIMEOUT, detail) from None
        try:
            yield
        finally:
            semaphore.release()

    async def _wait_for_more(self, failed: CallFailed) -> None:
        """Pause before another try; raise the failure when there is none."""
        if not failed.is_transient:
            raise failed
        if _was_sent(failed):
            self._failed += 1
        if self._failed > MORE_TRIES:
            raise failed
        is_turn = failed.code == failures.RATE_LIMITED
        pause = (failed.retry_after_seconds or 0.0) if is_turn else _jittered(self._failed)
        if is_turn:
            pause = max(pause, SHORTEST_WAIT_SECONDS)
            if pause > self.patience_seconds:
                raise failed
            self.patience_seconds -= pause
        if time.monotonic() + pause + SHORTEST_CALL_SECONDS > self.until:
            raise failed
        await asyncio.sleep(pause)

    def seconds_left(self) -> float:
        """Return the seconds until the deadline; raises CallFailed `timeout` when there are none."""
        left = self.until - time.monotonic()
        if left < SHORTEST_CALL_SECONDS:
            raise CallFailed(failures.TIMEOUT, "The time for this answer is up.")
        return left


class Asking:
    """One question to one model."""

    def __init__(self, tries: Tries, question: Question, model: str, optional: Mapping[str, Any]) -> None:
        self.tries = tries
        self.question = question
        self.model = model
        self.optional = optional
        self.max_tokens = question.max_output_tokens
        self.ways = self._known = Ways()
        boundary = secrets.token_hex(12)
        self._system, self._user = (
            _sendable(text.replace(BOUNDARY, boundary)) for text in (question.system, question.user)
        )

    async def answer(self) -> Parsed:
        """Return the answer, checked against the schema; raises CallFailed."""
        self.ways = self._known = await recall(self.tries.connection, self.model)
        done = await self._complete(self.ways)
        try:
            return self._read(done.text)
        except Misfit as misfit:
            if done.finish_reason == "length":
                return await self._longer()
            return await self._corrected(done, misfit)

    def _read(self, text: str) -> Parsed:
        """Read an answer. A finished one that stands in the data, letter for letter, is theirs and not the judge's."""
        parsed = parse(text, self.question.schema)
        if literal(parsed.written)[1:-1] in self.question.user:
            raise Misfit("It is copied from the data.")
        return parsed

    async def _longer(self) -> Parsed:
        """Ask again with room for twice as much, once."""
        self.max_tokens *= 2
        done = await self._complete(self.ways)
        try:
            return self._read(done.text)
        except Misfit as misfit:
            if done.finish_reason == "length":
                detail = f"The model's answer did not end within {self.max_tokens} tokens."
                raise CallFailed(failures.BAD_OUTPUT, detail) from None
            return await self._corrected(done, misfit)

    async def _corrected(self, first: Completion, misfit: Misfit) -> Parsed:
        """Show the model what was wrong, once, and say in words what is wanted."""
        asked_for = f"That is no answer that can be read: {misfit} {form_in_words(self.question.schema)}"
        more = ({"role": "assistant", "content": first.text[:MAX_SHOWN_CHARS]}, {"role": "user", "content": asked_for})
        plain = Ways(Mode.PLAIN, self.ways.limit, self.ways.dropped)
        done = await self._complete(plain if not misfit.has_json else self.ways, more)
        try:
            data = self._read(done.text).data
        except Misfit as again:
            raise CallFailed(failures.BAD_OUTPUT, f"The model's answer does not fit, twice. {again}") from None
        if not misfit.has_json and (plainer := self.ways.plainer()) is not None:
            # It took the parameter and paid no attention to it.
            remember(self.tries.connection, self.model, plainer)
        return Parsed(data, was_repaired=True)

    async def _complete(self, ways: Ways, more: tuple[dict[str, str], ...] = ()) -> Completion:
        """Make the call in these ways, or in the others that the endpoint takes, and remember those."""
        for _ in range(MAX_ADAPTATIONS):
            try:
                done = await self._call(ways, more)
                break
            except CallFailed as failed:
                if failed.was_cut:
                    done = Completion("", self.model, "length", 0, 0, None, failed.latency_ms)
                    break
                others = None if is_too_long(failed) else adapted(ways, failed, self.optional)
                if others is None:
                    raise
                ways = others
        else:
            done = await self._call(ways, more)
        if not more:
            self.ways = ways
            if ways != self._known:
                self._known = ways
                remember(self.tries.connection, self.model, ways)
        self.tries.bill.model, self.tries.bill.mode = done.model, ways.mode.value
        return done

    async def _call(self, ways: Ways, more: tuple[dict[str, str], ...]) -> Completion:
        schema = self.question.schema
        system = self._system
        if ways.mode in (Mode.JSON_OBJECT, Mode.PLAIN):
            system = f"{system}\n\n{form_in_words(schema)}"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": self._user}, *more]
        parameters = parameters_for(
            ways,
            prompt_id=self.question.prompt_id,
            schema=schema,
            max_tokens=self.max_tokens,
            optional=self.optional,
        )
        return await self.tries.make(
            lambda seconds: ask(
                self.tries.connection,
                messages=messages,
                model=self.model,
                parameters=parameters,
                deadline_seconds=seconds,
                reads_tool=ways.mode is Mode.TOOL,
                is_watched=True,
            )
        )


def _semaphore_of_loop() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    if (semaphore := _semaphores.get(loop)) is None:
        n_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MOST_CALLS_AT_ONCE if n_files < 0 else min(MOST_CALLS_AT_ONCE, n_files // 2)
        semaphore = _semaphores[loop] = asyncio.Semaphore(most)
    return semaphore


def _was_sent(failed: CallFailed) -> bool:
    """Say whether a failed call reached for the endpoint: our own limits say no before that."""
    return failed.latency_ms > 0


def _jittered(n: int) -> float:
    """Return a pause anywhere up to one that doubles, so that callers who failed together do not come back together."""
    return random.uniform(0, FIRST_PAUSE_SECONDS * 2**n)  # noqa: S311  # nosec B311 - not a secret


def _sendable(text: str) -> str:
    """Return a text that can be written as UTF-8: half a surrogate pair cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
