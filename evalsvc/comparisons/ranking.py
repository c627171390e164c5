"""A comparison's ranking as the API shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from evalsvc.comparisons.models import OutputComparison
from evalsvc.comparisons.selectors import config_names_of, outcome_rows
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.stats.ranking.davidson import PENALTY
from evalsvc.stats.ranking.elo import ORDERS, elo
from evalsvc.stats.ranking.matches import FIRST, SECOND, TIE, Matches
from evalsvc.stats.ranking.ranking import Ranking, rank
from evalsvc.stats.ranking.rates import Rate, overall_rates, share_over_examples, win_rates

OUTCOMES: dict[str | None, int] = {"first": FIRST, "tie": TIE, "second": SECOND}
METHOD = "bradley-terry-davidson, bayesian bootstrap over examples"
FEW_EXAMPLES = 30
Json = dict[str, Any]
Outcomes = Sequence[tuple[int, int, int, str | None, bool | None]]


def matches_of(comparison: OutputComparison, rows: Outcomes) -> Matches:
    """Return the judgements as the statistics take them."""
    place = {config: i for i, config in enumerate(comparison.configs)}
    played = [(pos, place[first], place[second], OUTCOMES[winner]) for pos, first, second, winner, _ in rows]
    return Matches.of(len(place), played)


def ranking_view(comparison: OutputComparison) -> Json:
    """Return the ranking of what is judged so far, the strongest first."""
    rows = outcome_rows(comparison)
    matches = matches_of(comparison, rows)
    ranking = rank(matches, level=comparison.level, seed=_seed(comparison))
    names = [config_names_of(comparison).get(config, str(config)) for config in comparison.configs]
    return {
        "level": comparison.level,
        "covers": "new_data",
        "method": METHOD,
        "penalty": PENALTY,
        "tie_parameter": ranking.tie_parameter,
        "n_examples": matches.n_examples,
        "n_judgements": len(rows),
        "n_together": int(np.triu(ranking.graph.same, 1).sum()),
        "groups": [[names[i] for i in group] for group in ranking.graph.groups()],
        "notes": _notes(comparison, matches, ranking),
        "places": [_place(comparison, names, matches, ranking, i) for i in ranking.order],
        "pairs": _pairs(names, matches, ranking),
        "flips": _flips(comparison, rows),
    }


def elo_view(comparison: OutputComparison) -> Json:
    """Return Elo ratings; what they vary by is the order of matches alone."""
    matches = matches_of(comparison, outcome_rows(comparison))
    means, noise = elo(matches, seed=_seed(comparison))
    names = config_names_of(comparison)
    rated = [
        {"config": names.get(config, str(config)), "rating": float(means[i]), "order_noise": float(noise[i])}
        for i, config in enumerate(comparison.configs)
    ]
    return {"n_orders": ORDERS, "ratings": sorted(rated, key=lambda row: -float(str(row["rating"])))}


def _seed(comparison: OutputComparison) -> int:
    return abs(comparison.seed)


def _notes(comparison: OutputComparison, matches: Matches, ranking: Ranking) -> list[str]:
    found = []
    if len(ranking.graph.groups()) > 1:
        found.append("not_connected")
    if 0 < matches.n_examples < FEW_EXAMPLES:
        found.append("few_examples")
    if comparison.design == OutputComparison.Design.ACTIVE:
        found.append("pairs_were_chosen_by_results")
    if ExperimentPlan.objects.filter(pk=comparison.experiment_id, cluster_by__isnull=False).exists():
        found.append("not_over_clusters")
    if any(place.strength is not None and None in (place.lower, place.upper) for place in ranking.placed):
        found.append("open_end")
    return found


def _place(comparison: OutputComparison, names: Sequence[str], matches: Matches, ranking: Ranking, i: int) -> Json:
    place = ranking.placed[i]
    first, second = matches.first == i, matches.second == i
    n_wins = int((first & (matches.outcome == FIRST)).sum() + (second & (matches.outcome == SECOND)).sum())
    n_losses = int((first & (matches.outcome == SECOND)).sum() + (second & (matches.outcome == FIRST)).sum())
    return {
        "config": names[i],
        "config_id": str(comparison.configs[i]),
        **asdict(place),
        "n_wins": n_wins,
        "n_ties": int(((first | second) & (matches.outcome == TIE)).sum()),
        "n_losses": n_losses,
        "win_rate": _rate(overall_rates(matches, comparison.level)[i]),
    }


def _pairs(names: Sequence[str], matches: Matches, ranking: Ranking) -> list[Json]:
    rates = win_rates(matches, ranking.level)
    counts = matches.counts
    return [
        {
            "first": names[i],
            "second": names[j],
            "n_wins": int(counts.first[0, p]),
            "n_ties": int(counts.tie[0, p]),
            "n_losses": int(counts.second[0, p]),
            "win_rate": _rate(rates[i, j]),
            "difference_lower": _end(ranking.lower[i, j]),
            "difference_upper": _end(ranking.upper[i, j]),
            "said": "better" if ranking.is_better[i, j] else "worse" if ranking.is_better[j, i] else "undecided",
        }
        for p, (i, j) in enumerate(matches.pairs.tolist())
    ]


def _flips(comparison: OutputComparison, rows: Outcomes) -> Json | None:
    asked = [(pos, flipped) for pos, *_, flipped in rows if flipped is not None]
    if not asked:
        return None
    examples = np.unique([pos for pos, _ in asked], return_inverse=True)[1]
    hits = np.bincount(examples, weights=[float(bool(flipped)) for _, flipped in asked]).astype(np.float64)
    totals = np.bincount(examples).astype(np.float64)
    return _rate(share_over_examples(hits, totals, level=comparison.level, seed=_seed(comparison)))


def _rate(rate: Rate | None) -> Json | None:
    return None if rate is None else asdict(rate)


def _end(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def is_same_ranking(stored: Mapping[str, Any], counted: Mapping[str, Any]) -> bool:
    """Say whether two rankings are the same, up to the last digits of another machine."""
    return _close(stored, counted)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_close(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return bool(one == other)
