"""Who leads an experiment, by how much, and whether that is decided: one sentence, the same on every page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.experiments.reporting.words import format_estimate, level_names, verdict_sentence
from evalsvc.stats.pairs.newpairs import BETTER, INCONCLUSIVE, WORSE

Comparison = Mapping[str, Any]
OPPOSITE = {BETTER: WORSE, WORSE: BETTER}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What an experiment says so far."""

    says: str
    is_decided: bool | None = None
    """Whether the leader is better than every other config; None while there is nothing to decide."""
    pair: tuple[str, str] | None = None
    """The leader and the config that it is compared with: the baseline, else the next best."""


def conclude_view(view: Mapping[str, Any]) -> Conclusion:
    """Return the conclusion of a live view."""
    metric = view["experiment"]["primary_metric"]
    configs = {config["id"]: config for config in view["configs"]}
    best = view["tied"] or [id for id in (view["leader"],) if id]
    versus = {id: config["versus_leader"] for id, config in configs.items() if config["versus_leader"]}
    rival = None
    if (leader := view["leader"]) in versus:
        rival = (versus[leader]["config_id"], versus[leader])
    elif leader:
        rival = find_next_best((id, found) for id, found in versus.items() if found["config_id"] == leader)
    estimate = configs[leader]["metrics"][metric] if leader else None
    names = {id: config["name"] for id, config in configs.items()}
    return conclude(metric, names, best, estimate, rival, is_settled=view["leader_settled"])


def find_next_best(others: Iterable[tuple[str, Comparison]]) -> tuple[str, Comparison] | None:
    """Return who is closest to the leader, and the leader's comparison with it, from the others' with the leader."""
    rows = [(id, found) for id, found in others if get_delta(found) is not None]
    if not rows:
        return None
    id, found = max(rows, key=lambda row: get_delta(row[1]) or 0.0)
    return id, swap(found)


def get_delta(found: Comparison) -> float | None:
    """Return the difference that new data have too: of a total, that of the mean."""
    delta: float | None = (found["mean"] or found)["delta"]
    return delta


def swap(found: Comparison) -> Comparison:
    """Return a comparison from the side of the other config."""
    difference = found["mean"] or found
    ends = difference["new_data"] or {}
    lower, upper = (None if ends.get(name) is None else 0.0 - ends[name] for name in ("upper", "lower"))
    new_data = {**ends, "lower": lower, "upper": upper}
    delta = None if difference["delta"] is None else 0.0 - difference["delta"]
    return {**found, "word": OPPOSITE.get(found["word"], found["word"]), "mean": {"delta": delta, "new_data": new_data}}


def conclude(
    metric: str,
    names: Mapping[str, str],
    best: Sequence[str],
    estimate: Mapping[str, Any] | None,
    rival: tuple[str, Comparison] | None,
    *,
    is_settled: bool | None,
) -> Conclusion:
    """Return the conclusion of an experiment from those that are best, and the leader's comparison with a rival.

    `estimate` is the leader's of the metric. `is_settled`: whether the leader is better than every other config.
    """
    if not best:
        return Conclusion("No config leads yet.")
    if len(best) > 1:
        return Conclusion(f"{metric}: tie of {level_names([names[id] for id in best])}.", False, (best[0], best[1]))
    leader = names[best[0]]
    if len(names) == 1:
        return Conclusion(f"{metric}: {leader}{_format_estimate(estimate)}.")
    if rival is None or rival[0] not in names:
        # Without the leader's estimate: overviews do not read it where there are several configs.
        return Conclusion(f"{metric}: {leader} leads; no comparison with another config is available.", is_settled)
    other, found = rival
    says = f"{metric}: {verdict_sentence(found, leader, names[other])}"
    if len(names) > 2 and found["word"] != INCONCLUSIVE:
        says += f" It is {'' if is_settled else 'not significantly '}better than every other config."
    return Conclusion(says, bool(is_settled), (best[0], other))


def _format_estimate(estimate: Mapping[str, Any] | None) -> str:
    shown = (estimate["mean"] or estimate) if estimate else {}
    if shown.get("value") is None:
        return " leads"
    value, ends = format_estimate(shown["value"], shown["lower"], shown["upper"])
    return f" has {value} {ends}".rstrip()
