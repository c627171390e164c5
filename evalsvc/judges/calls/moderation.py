"""One call to an endpoint's moderation page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalsvc.judges import failures
from evalsvc.judges.calls.chat import charge_unread, post
from evalsvc.judges.calls.counted import call_within_limits
from evalsvc.judges.calls.errors import printable
from evalsvc.judges.calls.estimates import ExpectedUsage, text_tokens
from evalsvc.judges.calls.responses import ReportedUsage, read_usage
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed

LIMITED_AS = "moderation"
"""What limits are counted under where no model is named: the endpoint chooses it."""
MAX_CATEGORIES = 100


@dataclass(frozen=True, slots=True)
class ModerationResult:
    """The endpoint's classification of a text."""

    flagged: bool
    categories: Mapping[str, float]
    model: str
    input_tokens: int
    output_tokens: int
    cost: float | None
    is_estimated: bool = False
    reasoning_tokens: int = 0


async def request_moderation(
    connection: ConnectionFacts, text: str, *, model: str | None, seconds: float
) -> ModerationResult:
    """Make one request within the connection's limits. Raises CallFailed. Few endpoints report their usage."""
    body = {"input": text.encode("utf-8", "replace").decode(), **({"model": model} if model else {})}
    limited_as = model or LIMITED_AS
    # Nothing is written but the verdict.
    expected = ExpectedUsage(text_tokens(body["input"]) + 1, 0)
    return await call_within_limits(
        connection,
        limited_as,
        tokens=expected.input_tokens,
        deadline_seconds=seconds,
        is_watched=True,
        call=lambda left: _once(connection, body, limited_as, expected, left),
    )


async def _once(
    connection: ConnectionFacts, body: Mapping[str, str], limited_as: str, expected: ExpectedUsage, seconds: float
) -> ModerationResult:
    try:
        return await post(
            connection,
            "/moderations",
            body,
            limited_as=limited_as,
            seconds=seconds,
            read=lambda answer, ms: _read(answer, read_usage(connection, answer, expected), limited_as),
        )
    except CallFailed as failed:
        charge_unread(connection, failed, expected)
        raise


def _read(answer: Mapping[str, object], usage: ReportedUsage, asked: str) -> ModerationResult:
    results = answer.get("results")
    result = results[0] if isinstance(results, list) and results else None
    scores = result.get("category_scores") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(scores, dict) or not _are_probabilities(scores):
        raise CallFailed(failures.BAD_OUTPUT, "The endpoint's answer has no category scores.")
    reported_model = answer.get("model")
    flagged = result.get("flagged")
    return ModerationResult(
        flagged=flagged if isinstance(flagged, bool) else any(_flags(result)),
        categories={printable(str(name), 100): float(score) for name, score in list(scores.items())[:MAX_CATEGORIES]},
        model=(printable(reported_model, 200) if isinstance(reported_model, str) else "") or asked,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
        is_estimated=usage.is_estimated,
    )


def _flags(result: dict[str, Any]) -> list[bool]:
    """Return the flag of each category, for endpoints that omit the overall flag."""
    categories = result.get("categories")
    return [value is True for value in categories.values()] if isinstance(categories, dict) else []


def _are_probabilities(scores: dict[str, Any]) -> bool:
    numbers = [value for value in scores.values() if isinstance(value, int | float) and not isinstance(value, bool)]
    return bool(scores) and len(numbers) == len(scores) and all(math.isfinite(n) and 0 <= n <= 1 for n in numbers)
