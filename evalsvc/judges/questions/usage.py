"""What the calls for one answer have used, failed ones included."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from evalsvc.judges.calls.counted import Billable
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import (
    BAD_OUTPUT,
    BUG,
    CONNECTION,
    RATE_LIMITED,
    TIMEOUT,
    CallFailed,
    ErrorKind,
)
from evalsvc.judges.ledger.breaker import CircuitOpen
from evaluators.base import CannotScore, JSONValue, TransientError
from evaluators.gateway import NotYet, Question

FOR_NOW = frozenset((TIMEOUT, BAD_OUTPUT, CONNECTION))


@dataclass(slots=True)
class Usage:
    """The sum of several calls. `cost` is None where prices are not known."""

    connection: ConnectionFacts
    asked_model: str
    prompt_hash: str | None = None
    model: str | None = None
    mode: str | None = None
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    latency_ms: float = 0.0
    is_estimated: bool = False

    def add(self, used: Billable | CallFailed, latency_ms: float) -> None:
        """Count one call that was sent."""
        self.calls += 1
        self.input_tokens += used.input_tokens
        self.output_tokens += used.output_tokens
        self.reasoning_tokens += used.reasoning_tokens
        self.latency_ms += latency_ms
        self.is_estimated |= used.is_estimated
        if used.cost is not None:
            self.cost = used.cost + (self.cost or 0.0)

    def provenance(self, **more: JSONValue) -> dict[str, JSONValue]:
        """Return the provenance of an answer or a failure: the connection, the model, the mode and the usage."""
        is_priced = self.connection.price_input_per_million is not None
        return {
            "connection": self.connection.name,
            "model": self.model or self.asked_model,
            "prompt_hash": self.prompt_hash,
            "mode": self.mode,
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            **({"reasoning_tokens": self.reasoning_tokens} if self.reasoning_tokens else {}),
            "cost": (self.cost or 0.0) if is_priced else None,
            "latency_ms": round(self.latency_ms, 3),
            **({"usage_estimated": True} if self.is_estimated else {}),
            **more,
        }


def prompt_hash(question: Question) -> str:
    """Return a digest of what is the same for all samples of a prompt: its id, the system message and the schema."""
    parts = [question.prompt_id, question.system, json.dumps(question.schema)]
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:16]


def to_cannot_score(failed: CallFailed, usage: Usage | None = None) -> CannotScore:
    """Return what a family raises for a failed call, with what was used all the same in `extra` as `judge`."""
    extra: dict[str, JSONValue] | None = {"judge": usage.provenance(cached=False)} if usage is not None else None
    if failed.code == RATE_LIMITED or is_outage(failed):
        wait = failed.retry_after_seconds or 0.0
        return NotYet(failed.code, failed.detail, extra=extra, retry_after_seconds=wait)
    # The endpoint has said nothing of this text, so what the open breaker refuses may succeed when it is asked again.
    if failed.code in FOR_NOW or isinstance(failed, CircuitOpen):
        return TransientError(failed.code, failed.detail, extra=extra)
    if failed.code == BUG:
        return TransientError("evaluator_failed", failed.detail, extra=extra)
    return CannotScore("input_too_long" if is_too_long(failed) else failed.code, failed.detail, extra=extra)


def is_outage(failed: CallFailed) -> bool:
    """Return whether the endpoint is away, so that the same question is better asked later.

    An answer that does not come in time is none: the text may be what takes so long.
    """
    if isinstance(failed, CircuitOpen):
        return failed.is_outage
    return failed.is_transient and (failed.code == CONNECTION or (failed.code == TIMEOUT and failed.status is not None))


def is_too_long(failed: CallFailed) -> bool:
    """Return whether the endpoint finds a text longer than it reads."""
    return failed.kind is ErrorKind.CONTEXT_LENGTH
