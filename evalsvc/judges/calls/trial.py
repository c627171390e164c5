"""Connection test: one tiny call and its result."""

from __future__ import annotations

from dataclasses import dataclass

from evalsvc.judges.calls.counted import complete_within_limits
from evalsvc.judges.calls.loop import run
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.models import Connection
from evalsvc.judges.selectors import facts_of_connection

# No parameters: endpoints differ in what they call the longest answer, and refuse the other name.
MESSAGES = ({"role": "user", "content": "Answer with one word: ok"},)
LONGEST_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What a test call brought; `error_code` and `error_detail` are set when it brought nothing."""

    ok: bool
    model: str
    latency_ms: float
    input_tokens: int
    output_tokens: int
    cost: float | None
    error_code: str | None = None
    error_detail: str | None = None


def try_connection(connection: Connection) -> Trial:
    """Call the connection once with its default model, within its limits, for at most 20 s.

    It talks to the world: call it outside of a transaction where that is possible. Never raises CallFailed.
    """
    try:
        completion = run(
            complete_within_limits(facts_of_connection(connection), messages=MESSAGES, deadline_seconds=LONGEST_SECONDS)
        )
    except CallFailed as failed:
        return Trial(
            ok=False,
            model=connection.model,
            latency_ms=failed.latency_ms,
            input_tokens=failed.input_tokens,
            output_tokens=failed.output_tokens,
            cost=failed.cost,
            error_code=failed.code,
            error_detail=failed.detail,
        )
    return Trial(
        True,
        completion.model,
        completion.latency_ms,
        completion.input_tokens,
        completion.output_tokens,
        completion.cost,
    )
