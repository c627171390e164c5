"""A comparison's ranking as the API shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evalsvc.comparisons.models import OutputComparison
from evalsvc.comparisons.selectors import get_config_names, outcome_rows
from evalsvc.experiments.definition.checks.clusters import read_cluster
from evalsvc.experiments.inference.clusters.cluster_sums import load_clusters
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.stats.ranking.clusters import (
    overall_rates_over_clusters,
    share_over_clusters,
    weight_by_cluster,
    win_rates_over_clusters,
)
from evalsvc.stats.ranking.davidson import PENALTY
from evalsvc.stats.ranking.elo import ORDERS, elo
from evalsvc.stats.ranking.matches import FIRST, SECOND, TIE, IntArray, Matches
from evalsvc.stats.ranking.ranks import Ranking, rank
from evalsvc.stats.ranking.rates import Rate, overall_rates, share_over_examples, win_rates

OUTCOMES: dict[str | None, int] = {"first": FIRST, "tie": TIE, "second": SECOND}
METHOD = "bradley-terry-davidson, bayesian bootstrap over examples"
OVER_CLUSTERS = "bradley-terry-davidson, bayesian bootstrap over clusters"
FEW = 30
Json = dict[str, Any]
Outcomes = Sequence[tuple[int, int, int, str | None, bool | None]]


def build_matches(comparison: OutputComparison, rows: Outcomes) -> Matches:
    """Return the judgements as the statistics take them."""
    place = {config: i for i, config in enumerate(comparison.configs)}
    played = [(pos, place[first], place[second], OUTCOMES[winner]) for pos, first, second, winner, _ in rows]
    return Matches.from_rows(len(place), played)


@dataclass(frozen=True)
class JudgementSet:
    """What is judged so far. `clusters` has the cluster of each judgement; None where examples share nothing."""

    matches: Matches
    clusters: IntArray | None

    @property
    def drawn(self) -> Matches:
        """The judgements by what is drawn: clusters, else examples."""
        return self.matches if self.clusters is None else weight_by_cluster(self.matches, self.clusters)

    def overall_rates(self, level: float, seed: int) -> list[Rate | None]:
        """Return each config's win rate against all others."""
        if self.clusters is None:
            return overall_rates(self.matches, level)
        return overall_rates_over_clusters(self.matches, self.clusters, level=level, seed=seed)

    def win_rates(self, level: float, seed: int) -> dict[tuple[int, int], Rate]:
        """Return the win rate of each judged pair's first config."""
        if self.clusters is None:
            return win_rates(self.matches, level)
        return win_rates_over_clusters(self.matches, self.clusters, level=level, seed=seed)


def load_judgement_set(comparison: OutputComparison, rows: Outcomes) -> JudgementSet:
    """Return the judgements, with the clusters of the plan where it names any."""
    return JudgementSet(build_matches(comparison, rows), _clusters(comparison, [row[0] for row in rows]))


def _clusters(comparison: OutputComparison, positions: Sequence[int]) -> IntArray | None:
    """Return the cluster of each position.

    A comparison that an earlier version ranked over examples is not ranked again over clusters, so that published
    results do not change; its notes mention it.
    """
    if comparison.ranking is not None and comparison.ranking.get("method") == METHOD:
        return None
    cluster_by = _cluster_by(comparison)
    if cluster_by is None:
        return None
    of = load_clusters(comparison.experiment_id, read_cluster(cluster_by)).of
    return np.array(of[list(positions)], dtype=np.int64)


def _cluster_by(comparison: OutputComparison) -> str | None:
    plans = ExperimentPlan.objects.filter(pk=comparison.experiment_id)
    return plans.values_list("cluster_by", flat=True).first()


def ranking_view(comparison: OutputComparison) -> Json:
    """Return the ranking of what is judged so far, the strongest first."""
    rows = outcome_rows(comparison)
    all_of_it = load_judgement_set(comparison, rows)
    unit_matches = all_of_it.drawn
    ranking = rank(unit_matches, level=comparison.level, seed=_seed(comparison))
    names = [get_config_names(comparison).get(config, str(config)) for config in comparison.configs]
    over = all_of_it.clusters is not None
    return {
        "level": comparison.level,
        "covers": "new_data",
        "method": OVER_CLUSTERS if over else METHOD,
        "penalty": PENALTY,
        "tie_parameter": ranking.tie_parameter,
        "n_examples": all_of_it.matches.n_examples,
        **({"n_clusters": unit_matches.n_examples} if over else {}),
        "n_judgements": len(rows),
        "n_together": int(np.triu(ranking.graph.same, 1).sum()),
        "groups": [[names[i] for i in group] for group in ranking.graph.groups()],
        "notes": _notes(comparison, all_of_it, ranking),
        "places": _places(comparison, names, all_of_it, ranking),
        "pairs": _pairs(names, all_of_it, ranking, _seed(comparison)),
        "flips": _flips(comparison, rows, all_of_it.clusters),
    }


def elo_view(comparison: OutputComparison) -> Json:
    """Return Elo ratings; what they vary by is the order of matches alone."""
    matches = build_matches(comparison, outcome_rows(comparison))
    means, noise = elo(matches, seed=_seed(comparison))
    names = get_config_names(comparison)
    rated = [
        {"config": names.get(config, str(config)), "rating": float(means[i]), "order_noise": float(noise[i])}
        for i, config in enumerate(comparison.configs)
    ]
    return {"n_orders": ORDERS, "ratings": sorted(rated, key=lambda row: -float(str(row["rating"])))}


def _seed(comparison: OutputComparison) -> int:
    return abs(comparison.seed)


def _notes(comparison: OutputComparison, all_of_it: JudgementSet, ranking: Ranking) -> list[str]:
    notes = []
    if len(ranking.graph.groups()) > 1:
        notes.append("not_connected")
    if 0 < all_of_it.drawn.n_examples < FEW:
        notes.append("few_examples" if all_of_it.clusters is None else "few_clusters")
    if comparison.design == OutputComparison.Design.ACTIVE:
        notes.append("pairs_were_chosen_by_results")
    if all_of_it.clusters is None and _cluster_by(comparison) is not None:
        notes.append("not_over_clusters")
    if any(place.strength is not None and None in (place.lower, place.upper) for place in ranking.placed):
        notes.append("open_end")
    return notes


def _places(
    comparison: OutputComparison, names: Sequence[str], all_of_it: JudgementSet, ranking: Ranking
) -> list[Json]:
    rates = all_of_it.overall_rates(comparison.level, _seed(comparison))
    return [
        {
            "config": names[i],
            "config_id": str(comparison.configs[i]),
            **asdict(ranking.placed[i]),
            "n_examples": int(all_of_it.matches.examples_of[i]),
            **_tally(all_of_it.matches, i),
            "win_rate": _rate(rates[i]),
        }
        for i in ranking.order
    ]


def _tally(matches: Matches, i: int) -> dict[str, int]:
    first, second = matches.first == i, matches.second == i
    return {
        "n_wins": int((first & (matches.outcome == FIRST)).sum() + (second & (matches.outcome == SECOND)).sum()),
        "n_ties": int(((first | second) & (matches.outcome == TIE)).sum()),
        "n_losses": int((first & (matches.outcome == SECOND)).sum() + (second & (matches.outcome == FIRST)).sum()),
    }


def _pairs(names: Sequence[str], all_of_it: JudgementSet, ranking: Ranking, seed: int) -> list[Json]:
    matches, rates = all_of_it.matches, all_of_it.win_rates(ranking.level, seed)
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


def _flips(comparison: OutputComparison, rows: Outcomes, clusters: IntArray | None) -> Json | None:
    indices = [i for i, (*_, flipped) in enumerate(rows) if flipped is not None]
    if not indices:
        return None
    flipped = np.array([float(bool(rows[i][4])) for i in indices])
    positions = np.array([rows[i][0] for i in indices])
    if clusters is not None:
        n, seed = len(np.unique(positions)), _seed(comparison)
        return _rate(share_over_clusters(flipped, clusters[indices], n=n, level=comparison.level, seed=seed))
    examples = np.unique(positions, return_inverse=True)[1]
    hits = np.bincount(examples, weights=flipped).astype(np.float64)
    totals = np.bincount(examples).astype(np.float64)
    return _rate(share_over_examples(hits, totals, level=comparison.level, seed=_seed(comparison)))


def _rate(rate: Rate | None) -> Json | None:
    return None if rate is None else asdict(rate)


def _end(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def is_same_ranking(stored: Mapping[str, Any], counted: Mapping[str, Any]) -> bool:
    """Return whether two rankings are the same, up to the last digits of another machine."""
    return _close(stored, counted)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_close(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return bool(one == other)
