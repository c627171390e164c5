"""Scores and outputs that an endpoint cannot give yet: how long a unit waits for them, and what ends that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import connections
from django.db.models.functions import Now

from evalsvc.experiments.models import Config, Output, Score
from evalsvc.experiments.runner.score import WAITS, Row
from evalsvc.experiments.runner.store import Unit
from evalsvc.judges.failures import CONNECTION, RATE_LIMITED
from evalsvc.tenancy.scope import account_scope

FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 2.0, 30.0
SHORTEST_DELAY_SECONDS = 0.1


def set_delays(unit: Unit, scores: Sequence[Row]) -> None:
    """Give scores that wait the seconds until the next attempt; those without time left become errors.

    They wait JUDGE_PATIENCE_SECONDS in all, for a rate limit only if it ends before, and not once a person has stopped
    or deleted their config.
    """
    waiting = [row for row in scores if WAITS in row]
    if not waiting:
        return
    seconds_left = 0.0 if _is_stopped(unit) else settings.JUDGE_PATIENCE_SECONDS - unit.waited_seconds
    backoff = _compute_backoff(unit)
    for row in waiting:
        hint = row.pop(WAITS)
        least = hint if row.get("error_code") == RATE_LIMITED else 0.0
        if seconds_left > max(least, SHORTEST_DELAY_SECONDS):
            row[WAITS] = min(seconds_left, max(backoff, hint))


def find_output_delay(unit: Unit) -> float | None:
    """Return the seconds until an output whose endpoint is away is asked for again; None if its time is over.

    A unit waits JUDGE_PATIENCE_SECONDS in all. What comes after one that gave up does not wait as long once more.
    """
    seconds_left = settings.JUDGE_PATIENCE_SECONDS - unit.waited_seconds
    if seconds_left <= SHORTEST_DELAY_SECONDS or (unit.addition == 0 and _has_given_up(unit)):
        return None
    return min(seconds_left, _compute_backoff(unit))


def _compute_backoff(unit: Unit) -> float:
    return min(LONGEST_DELAY_SECONDS, max(FIRST_DELAY_SECONDS, unit.waited_seconds))


def _has_given_up(unit: Unit) -> bool:
    """Return whether the newest output of a config is one that has waited in vain, a short time ago."""
    since = Now() - timedelta(seconds=settings.JUDGE_PATIENCE_SECONDS)
    try:
        with account_scope(unit.account_id):
            newest = Output.objects.filter(config_id=unit.config_id, created_at__gt=since).order_by("-pk")
            return newest.values_list("error_type", flat=True).first() == CONNECTION
    finally:
        connections.close_all()


def find_scored_metrics(unit: Unit) -> dict[int, set[str]]:
    """Return, by position, the metrics that have been scored while others waited for their judge."""
    with account_scope(unit.account_id):
        rows = Score.objects.filter(config_id=unit.config_id, pos__gte=unit.from_pos, pos__lt=unit.to_pos)
        metrics: dict[int, set[str]] = {}
        for pos, metric in rows.values_list("pos", "metric"):
            metrics.setdefault(pos, set()).add(metric)
        return metrics


def _is_stopped(unit: Unit) -> bool:
    """Return whether nobody waits for a unit any more; what was added or is tried again outlasts a stop."""
    with account_scope(unit.account_id):
        config = Config.objects.filter(pk=unit.config_id).values_list("state", "stop_reason").first()
    if config is None or config[0] == Config.State.DELETED:
        return True
    return unit.addition == 0 and config == (Config.State.STOPPED, Config.StopReason.USER)
