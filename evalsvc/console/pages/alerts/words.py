"""Monitors and alarms as pages show them: which history, its address, and the baseline as a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from evalsvc.accounts.models import Account
from evalsvc.console.pages.gates.lists import describe_scope
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.numbers import Number
from evalsvc.console.parts.scorers import scorer_names
from evalsvc.monitors.answers import MonitorPreview, describe_period
from evalsvc.monitors.models import Alarm, Monitor

LEVEL = 0.95
TONES = {Alarm.State.OPEN: "bad", Alarm.State.ACKNOWLEDGED: "warn", Alarm.State.RESOLVED: "good"}
OF = {Monitor.Estimand.PASS_RATE: "pass", Monitor.Estimand.MEAN_SCORE: "score"}


def describe_histories(account: Account, monitors: Iterable[Monitor]) -> dict[int, str]:
    """Return the evaluator, the profile and the scope of each monitor, by its id."""
    rows = list(monitors)
    names = scorer_names(account, {row.evaluator_id for row in rows})
    return {row.pk: _describe_history(row, names) for row in rows}


def _describe_history(monitor: Monitor, names: Mapping[str, str]) -> str:
    profile = f" · {monitor.profile_name}" if monitor.profile_name else ""
    return f"{names.get(monitor.evaluator_id, monitor.evaluator_id)}{profile}{describe_scope(monitor.scope)}"


def history_address(monitor: Monitor, *, split_at: datetime | None = None) -> str:
    """Return the URL of a monitor's history; with `split_at`, compared with what was before."""
    query: dict[str, object] = {"evaluator": monitor.evaluator_id, "profile": monitor.profile_name}
    query |= {"of": OF.get(Monitor.Estimand(monitor.estimand)), "cluster_by": monitor.cluster_by}
    for kind, value in monitor.scope.items() if isinstance(monitor.scope, Mapping) else ():
        if isinstance(value, Mapping):
            query |= {f"scope.{kind}.{key}": text for key, text in value.items()}
        else:
            query[f"scope.{kind}"] = value
    query["vs.before"] = split_at.isoformat() if split_at else None
    return page_address("console_history", **query)


def baseline_number(shown: MonitorPreview) -> Number:
    """Return a monitor's baseline with its interval, or its limit."""
    baseline = shown.baseline
    if baseline is None:
        aside = "fixed limit" if shown.period_minutes is None else f"in {describe_period(shown.period_minutes)}"
        return Number(shown.limit, aside=aside)
    counted = "" if baseline.unit == Monitor.Unit.SCORE else f"{baseline.unit}s of {baseline.n_scores} scores"
    if baseline.weighted:
        counted = f"{counted}, weighted".removeprefix(", ")
    return Number(
        baseline.mean, baseline.lower, baseline.upper, n=baseline.n_units, level=LEVEL, covers="new_data", aside=counted
    )
