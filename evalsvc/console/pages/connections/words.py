"""Texts about the status of a connection, and remedies for its failures."""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings

from evalsvc.judges.ledger.health import ConnectionHealth
from evalsvc.judges.ledger.status import ConnectionStatus
from evalsvc.reports.words import number_text

REMEDIES = {
    "timeout": "Check whether the endpoint is overloaded; raise the timeout or use a faster model.",
    "rate_limited": "Set calls and tokens per minute to the endpoint's limits, or ask the provider for more.",
    "connection": "Check that the endpoint is running and its address is right, then test.",
    "refused": "Only single texts are affected: read the explanation of the failed evaluation.",
    "bad_output": "The model does not return the required format: use another model.",
    "budget_exhausted": "Raise the daily budget, or add credit at the provider. Budgets reset at midnight UTC.",
    "not_configured": "The endpoint rejects the key, the model or the path: edit them, then test.",
    "bug": "The call could not be made: contact the operator.",
}
SAID = {
    "timeout": "Calls time out.",
    "connection": "The endpoint is unreachable or failing.",
    "budget_exhausted": "The budget is spent.",
    "not_configured": "The endpoint rejects the requests.",
}


def format_state(one: ConnectionStatus) -> tuple[str, str]:
    """Return the status of a connection as a short label, with its tone."""
    if not one.connection.is_enabled:
        return "off", ""
    if one.failed_with is not None:
        return "fails", "bad"
    share = budget_share(one.spent, one.connection.daily_budget)
    if share is not None and share >= 0.8:
        return ("budget spent", "bad") if share >= 1 else ("budget nearly spent", "warn")
    if one.health is None:
        return "not known", ""
    return ("answers", "good") if one.health.n_calls else ("no recent calls", "")


def budget_share(spent: float | None, budget: Decimal | None) -> float | None:
    """Return which share of the day's budget is spent; None where that is not known."""
    if spent is None or budget is None:
        return None
    return spent / float(budget) if budget else 1.0


def format_cause(one: ConnectionStatus) -> str:
    """Return why a connection does not answer, and the remedy; empty when it answers."""
    code = one.failed_with
    if code is None:
        return ""
    return f"{one.detail or SAID.get(code, code)} {REMEDIES.get(code, '')}".strip()


def format_spend(one: ConnectionStatus) -> str:
    """Return what is spent today, and of what."""
    spend = "not known" if one.spent is None else number_text(one.spent)
    budget, currency = one.connection.daily_budget, one.connection.currency or settings.CURRENCY
    return f"{spend} of {number_text(float(budget))} {currency}" if budget is not None else f"{spend}, no budget"


def format_failures(health: ConnectionHealth | None) -> str:
    """Return how many calls of the day failed, by code. Every call is counted, so an interval is not needed."""
    if health is None:
        return "not known"
    if not health.n_calls:
        return "—"
    if not health.n_failed:
        return f"none of {number_text(health.n_calls)}"
    codes = ", ".join(f"{code} {number_text(n)}" for code, n in health.failed.items())
    share = f"{100 * health.n_failed / health.n_calls:.3g} %"
    return f"{number_text(health.n_failed)} of {number_text(health.n_calls)} ({share}): {codes}"


def format_times(health: ConnectionHealth | None) -> str:
    """Return the times within which 50 % and 95 % of the calls end."""
    if health is None or health.p50_ms is None or health.p95_ms is None:
        return "—"
    return f"half within {_time(health.p50_ms)}, 95 % within {_time(health.p95_ms)}"


def _time(ms: float) -> str:
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.3g} s"
