"""Connection test: one small judge question, and what the service has learnt from it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NoReturn

from django.conf import settings

from evalsvc.judges.calls.classification import PROTOCOLS, ClassifierResult, request_labels
from evalsvc.judges.calls.loop import run
from evalsvc.judges.connections.checks import hint_at_path
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import BAD_OUTPUT, NOT_CONFIGURED, CallFailed
from evalsvc.judges.models import Connection
from evalsvc.judges.questions.descriptions import describe_dialect
from evalsvc.judges.questions.dialects import recall_dialect
from evalsvc.judges.questions.judge_call import JudgeCall
from evalsvc.judges.questions.retries import RetryPolicy
from evalsvc.judges.questions.usage import Usage
from evalsvc.judges.selectors import facts_of_connection
from evaluators.gateway import Question

LONGEST_SECONDS = 60.0
QUESTION = Question(
    prompt_id="connection-test/1",
    system="You grade answers. Reason in one sentence whether the answer to the question is correct; then give a score "
    "from 0 (incorrect) to 1 (correct), and your verdict.",
    user="Question: How much is 17 + 25?\nAnswer: 42",
    schema={
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "verdict": {"type": "string", "enum": ["correct", "incorrect"]},
        },
        "required": ["reasoning", "score", "verdict"],
        "additionalProperties": False,
    },
)
TEXTS = ("The station opened in 1874.", "The station opened in the 19th century.")
"""What a classifier is tested with."""
ABOUT_ADDRESS = (NOT_CONFIGURED, BAD_OUTPUT)
"""Failures for which a wrong path is a usual cause: a page that is missing, or one that is no API."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a test brought; `error_code` and `error_detail` are set when it brought no verdict.

    Latency, tokens and cost are those of all `calls`. `dialect` is how the model is called from now on, and `hint` a
    likely mistake in the address.
    """

    ok: bool
    model: str
    calls: int
    latency_ms: float
    input_tokens: int
    output_tokens: int
    cost: float | None
    currency: str
    is_estimated: bool = False
    dialect: Mapping[str, object] | None = None
    hint: str | None = None
    error_code: str | None = None
    error_detail: str | None = None


def describe_trial(trial: Trial) -> str:
    """Return what a test brought, in a sentence or two for people."""
    hint = f" {trial.hint}" if trial.hint else ""
    if not trial.ok:
        return f"{trial.error_code}: {trial.error_detail}{hint}"
    n_calls = "1 call" if trial.calls == 1 else f"{trial.calls} calls"
    tokens = f"{trial.input_tokens} tokens sent, {trial.output_tokens} written"
    learnt = f" It is called with: {describe_dialect(trial.dialect)}." if trial.dialect else ""
    estimated = ", by estimate" if trial.is_estimated else ""
    cost = "" if trial.cost is None else f", {_format_money(trial.cost)} {trial.currency}"
    return (
        f"{trial.model} gave a verdict after {trial.latency_ms:.0f} ms in {n_calls}: {tokens}{estimated}{cost}.{learnt}"
    )


def _format_money(amount: float) -> str:
    return f"{amount:.9f}".rstrip("0").rstrip(".")


class SingleAttempt(RetryPolicy):
    """Tells the first failure at once: a person waits for it."""

    async def _wait_for_more(self, failed: CallFailed) -> NoReturn:
        raise failed


def try_connection(connection: Connection) -> Trial:
    """Ask the connection's default model one judge question, within its limits, for at most a minute.

    It talks to the world: call it outside of a transaction where that is possible. Never raises CallFailed.
    """
    try:
        facts = facts_of_connection(connection)
    except CallFailed as failed:
        return _trial(connection, None, failed=failed)
    usage = Usage(facts, facts.model)
    try:
        dialect = run(_ask(facts, usage))
    except CallFailed as failed:
        return _trial(connection, usage, failed=failed)
    return _trial(connection, usage, dialect=dialect)


async def _classify(facts: ConnectionFacts, seconds: float) -> ClassifierResult:
    """Classify one small input. The names of vLLM's classes are the profile's, so that their number alone is read."""
    texts = TEXTS[: PROTOCOLS[facts.protocol].sizes[-1]]
    return await request_labels(facts, [texts], model=facts.model, seconds=seconds, names=None, is_watched=False)


async def _ask(facts: ConnectionFacts, usage: Usage) -> Mapping[str, object] | None:
    until = time.monotonic() + min(facts.timeout_seconds, LONGEST_SECONDS)
    retries = SingleAttempt(facts, facts.model, usage, until=until, patience_seconds=0.0)
    if facts.is_classifier:
        await retries.make(partial(_classify, facts))
        return None
    await JudgeCall(retries, QUESTION, facts.model, {}, is_watched=False).answer()
    return asdict(await recall_dialect(facts, facts.model))


def _trial(
    connection: Connection,
    usage: Usage | None,
    *,
    failed: CallFailed | None = None,
    dialect: Mapping[str, object] | None = None,
) -> Trial:
    used: dict[str, Any] = {} if usage is None else usage.provenance(cached=False)
    return Trial(
        ok=failed is None,
        model=str(used.get("model") or connection.model),
        calls=used.get("calls", 0),
        latency_ms=used.get("latency_ms", 0.0),
        input_tokens=used.get("input_tokens", 0),
        output_tokens=used.get("output_tokens", 0),
        cost=used.get("cost"),
        currency=connection.currency or settings.CURRENCY,
        is_estimated=bool(used.get("usage_estimated")),
        dialect=dialect,
        hint=_find_hint(connection, failed),
        error_code=failed.code if failed is not None else None,
        error_detail=failed.detail if failed is not None else None,
    )


def _find_hint(connection: Connection, failed: CallFailed | None) -> str | None:
    is_about_address = failed is not None and failed.code in ABOUT_ADDRESS
    return hint_at_path(connection.base_url, connection.protocol) if is_about_address else None
