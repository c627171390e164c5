"""Judge state shared by all workers: a client that batches commands to Redis, and keys that are separate per account.

Hundreds of concurrent calls send small commands to Redis. One thread of the process collects the waiting commands,
sends them as one pipeline and distributes the replies: a round trip for each would cost more than the rest of a call.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from redis.exceptions import NoScriptError, RedisError

from evalsvc.infra.redis import Script, Word, get_shared_client
from evalsvc.judges.connections.facts import ConnectionFacts

log = logging.getLogger(__name__)
MAX_AT_ONCE = 128
"""Commands that go in one pipeline: Redis is held up for none of its other clients."""
STOP_SECONDS = 3.0
Reply: TypeAlias = "bytes | int | list[Reply] | None"
"""What Redis answers to the commands and scripts of the ledger."""
Lost: TypeAlias = Callable[[Reply], None]


@dataclass(slots=True, eq=False)
class QueuedCommand:
    """A command and the future of its caller; `lost` receives a reply that no caller awaits any more.

    `again` is sent instead if Redis does not have the command's script.
    """

    words: tuple[Word, ...]
    again: tuple[Word, ...] = ()
    loop: asyncio.AbstractEventLoop | None = None
    answer: asyncio.Future[Reply] | None = None
    lost: Lost | None = None

    def hand_over(self, answer: Reply | Exception) -> None:
        """Deliver the reply to the waiting caller."""
        if self.answer is None or self.answer.done():
            if isinstance(answer, Exception):
                log.warning("ledger write failed: %s", type(answer).__name__)
            elif self.lost is not None:
                self.lost(answer)
        elif isinstance(answer, Exception):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


class LedgerClient:
    """Redis client for all coroutines of a process; commands run in the order in which they were queued."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[QueuedCommand | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="judge-ledger", daemon=True)
        self._thread.start()

    async def ask(self, *command: Word) -> Reply:
        """Return Redis' answer to a command; raises RedisError."""
        return await self._enqueue(QueuedCommand(command))

    async def run(
        self, script: Script, *, keys: Sequence[str], args: Sequence[Word] = (), lost: Lost | None = None
    ) -> Reply:
        """Run a Lua script and return its answer; raises RedisError.

        It runs whatever becomes of the caller: `lost` is called with the answer that a cancelled one did not take.
        """
        return await self._enqueue(
            QueuedCommand(script.build_evalsha(keys, args), script.build_eval(keys, args), lost=lost)
        )

    def tell(self, *command: Word) -> None:
        """Have a command carried out some time soon; a failure is logged."""
        self._waiting.put(QueuedCommand(command))

    def tell_script(self, script: Script, *, keys: Sequence[str], args: Sequence[Word] = ()) -> None:
        """Have a Lua script run some time soon; a failure is logged."""
        self._waiting.put(QueuedCommand(script.build_evalsha(keys, args), script.build_eval(keys, args)))

    def stop(self) -> None:
        """Carry out what is waiting, and end."""
        self._waiting.put(None)
        self._thread.join(STOP_SECONDS)

    def _enqueue(self, command: QueuedCommand) -> asyncio.Future[Reply]:
        command.loop = asyncio.get_running_loop()
        command.answer = command.loop.create_future()
        self._waiting.put(command)
        return command.answer

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, is_last = [first], False
            while len(batch) < MAX_AT_ONCE and not is_last:
                try:
                    command = self._waiting.get_nowait()
                except Empty:
                    break
                is_last = command is None
                batch += [command] if command is not None else []
            _hand_over(batch, _execute_batch(batch))
            if is_last:
                return


def _execute_batch(batch: Sequence[QueuedCommand]) -> list[Any]:
    """Return an answer or an exception for each command."""
    try:
        pipe: Any = get_shared_client().pipeline(transaction=False)
        for command in batch:
            pipe.execute_command(*command.words)
        answers = pipe.execute(raise_on_error=False)
        return [
            _execute_script(command) if isinstance(answer, NoScriptError) else answer
            for command, answer in zip(batch, answers, strict=True)
        ]
    except RedisError as exc:
        return [exc] * len(batch)
    except Exception as exc:
        # What cannot be sent at all is the mistake of one, and shall not cost the others theirs, or the thread.
        return [exc] if len(batch) == 1 else [answer for command in batch for answer in _execute_batch([command])]


def _execute_script(command: QueuedCommand) -> Any:
    """Run a script that Redis has not met, or has forgotten."""
    try:
        client: Any = get_shared_client()
        return client.execute_command(*command.again)
    except RedisError as exc:
        return exc


def _hand_over(batch: Sequence[QueuedCommand], answers: Sequence[Any]) -> None:
    of_loops: dict[asyncio.AbstractEventLoop | None, list[tuple[QueuedCommand, Any]]] = {}
    for pair in zip(batch, answers, strict=True):
        of_loops.setdefault(pair[0].loop, []).append(pair)
    for loop, pairs in of_loops.items():
        try:
            if loop is None:
                _hand_over_all(pairs)
            else:
                loop.call_soon_threadsafe(_hand_over_all, pairs)
        except RuntimeError:
            # The loop is closed, and with it everybody who waited.
            for command, answer in pairs:
                command.answer = None
                command.hand_over(answer)


def _hand_over_all(pairs: Sequence[tuple[QueuedCommand, Any]]) -> None:
    for command, answer in pairs:
        command.hand_over(answer)


_lock = threading.Lock()
_of_process: LedgerClient | None = None


def _forget() -> None:
    # A forked child has neither its parent's thread nor anything to write for its parent.
    global _lock, _of_process
    _lock, _of_process = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)


def ledger() -> LedgerClient:
    """Return this process' client; the first call starts it."""
    global _of_process
    if _of_process is None:
        with _lock:
            if _of_process is None:
                _of_process = LedgerClient()
    return _of_process


@atexit.register
def stop_ledger() -> None:
    """Have everything carried out that is waiting."""
    global _of_process
    with _lock:
        ending, _of_process = _of_process, None
    if ending is not None:
        ending.stop()


def ledger_key(connection: ConnectionFacts, model: str, what: str) -> str:
    """Return a Redis key for state of a connection's model.

    The key contains the account, the connection and its epoch, so that any change of the connection discards the state.
    The model name is arbitrary text, hence the digest; the braces put all keys of a connection in one slot of a
    cluster.
    """
    of_model = hashlib.blake2b(model.encode(errors="replace"), digest_size=12).hexdigest()
    return f"judge:{{{connection.account_id}:{connection.id.hex}}}:{of_model}:{what}:{connection.epoch}"
