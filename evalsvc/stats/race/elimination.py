"""Elimination policies of a race: pure decisions, shared by the service and the simulations.

| policy | stops a config when | error |
|---|---|---|
| `manual` | never | none |
| `race_safe` | evidence against it reaches a threshold for all rivals together | alpha, for ever stopping the best |
| `race_default` | evidence against it reaches 20 | 1/20 for each rival, at any stopping time |
| `race_fast` | a paired t test at alpha/(k-1) rejects | not bounded, because the test is repeated |
| `halving` | it is in the worse half at the end of a shard | not bounded |

All policies except `manual` also stop configs that can no longer win and, where an epsilon is given, every config shown
not to be better than the leader by epsilon or more. The last config in the race is never stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalsvc.stats.formulas.finite import t_quantile
from evalsvc.stats.pairs.paired import Differences
from evalsvc.stats.race.contest import POLICIES, Contender, Elimination, Rules, threshold, unsupported
from evalsvc.stats.race.evidence import Pair, advance, advance_all, differences, e_value, new_pair, not_worse_value

__all__ = [
    "POLICIES",
    "Contender",
    "Elimination",
    "Pair",
    "Rules",
    "advance",
    "advance_all",
    "decide",
    "differences",
    "e_value",
    "new_pair",
    "threshold",
    "unsupported",
]

Pairs = Mapping[tuple[int, int], Pair]


def decide(rules: Rules, contenders: Sequence[Contender], pairs: Pairs) -> list[Elimination]:
    """Return the configs to stop now, the clearest cases first.

    Parameters
    ----------
    rules : Rules
        As fixed at the start of the race.
    contenders : sequence of Contender
        All contenders of the race, past and present. Eliminated ones neither stop others nor are stopped. Waiting ones
        stop no other config; a waiting contender without an elimination in the result can return.
    pairs : mapping
        From (winner id, loser id) to the evidence so far. Pairs that are missing, or that began before either config
        was fresh, are ignored.

    Returns
    -------
    list of Drop
        At most one for each config. A completed config is not stopped, because that would save nothing. At least one
        config remains in the race.

    Examples
    --------
    >>> import numpy as np
    >>> rules = Rules("race_default", 0.95, None, 2, None, 400, (200, 400))
    >>> both = [Contender(i, i, 0, 20, True) for i in (1, 2)]
    >>> lead = advance(new_pair(1, 2, 0, None), np.ones(20), 400, None)
    >>> [(drop.loser, drop.reason) for drop in decide(rules, both, {(1, 2): lead})]
    [(2, 'evidence')]
    """
    if rules.policy not in POLICIES:
        raise ValueError(f"`policy` must be one of {', '.join(POLICIES)}, not {rules.policy!r}.")
    if rules.policy == "manual" or not any(c.is_active for c in contenders):
        return []
    race = _Race(rules, contenders, {c.id: c for c in contenders if c.is_active}, pairs)
    drops = _allowed(race, {}, _claims(race))
    if rules.epsilon is not None:
        drops = _allowed(race, drops, _not_better(race, drops))
    return list(drops.values())


@dataclass(frozen=True, slots=True)
class _Race:
    rules: Rules
    ever: Sequence[Contender]
    active: Mapping[int, Contender]
    pairs: Pairs

    def fresh_pairs(self) -> Iterator[Pair]:
        """Yield the pairs with evidence on examples unseen by both configs' designers and with "
        "the winner in the race.
        """
        losers = {c.id: c for c in self.ever if c.is_active or c.is_waiting}
        for pair in self.pairs.values():
            winner, loser = self.active.get(pair.winner), losers.get(pair.loser)
            if winner and loser and pair.n and pair.start >= max(winner.fresh_from, loser.fresh_from):
                yield pair


def _allowed(race: _Race, drops: Mapping[int, Elimination], claims: Iterable[Elimination]) -> dict[int, Elimination]:
    """Add the first claim against each config, unless it has completed, or is the last one in the race."""
    allowed = dict(drops)
    n_left = len(race.active) - sum(loser in race.active for loser in drops)
    for drop in claims:
        config = race.active.get(drop.loser)
        if drop.loser in allowed or (config and (n_left < 2 or config.watermark >= race.rules.shard_ends[-1])):
            continue
        allowed[drop.loser] = drop
        n_left -= config is not None
    return allowed


def _claims(race: _Race) -> Iterator[Elimination]:
    """Yield every reason to stop a config but epsilon: first what is certain, then what is likely."""
    fresh = list(race.fresh_pairs())
    yield from _futile(race, fresh)
    yield from _BY_POLICY[race.rules.policy](race, fresh)


def _numbers(pair: Pair) -> dict[str, float]:
    return {"start": pair.start, "n": pair.n, "difference": pair.total / pair.n}


def _futile(race: _Race, fresh: Sequence[Pair]) -> Iterator[Elimination]:
    """Stop what stays behind even if every example to come is scored best for it and worst for the other."""
    for pair in fresh:
        remaining = race.rules.population - pair.start - pair.n
        if pair.total > remaining:
            numbers = {**_numbers(pair), "lead": pair.total, "remaining": remaining}
            yield Elimination(pair.loser, pair.winner, "futility", None, numbers)


def _eliminate_by_evidence(race: _Race, fresh: Sequence[Pair]) -> Iterator[Elimination]:
    eliminations = []
    for pair in fresh:
        required, value = threshold(race.rules, race.active[pair.winner]), e_value(pair)
        if value >= required:
            drop = Elimination(pair.loser, pair.winner, "evidence", required, {**_numbers(pair), "e_value": value})
            eliminations.append((value / required, drop))
    yield from _strongest_first(eliminations)


def _eliminate_by_t_test(race: _Race, fresh: Sequence[Pair]) -> Iterator[Elimination]:
    rivals = max(1, len(race.active) - 1)
    eliminations = []
    for pair in fresh:
        sums = Differences(pair.n, pair.total, pair.squares, pair.n_plus, pair.n_minus)
        if pair.n < max(2, race.rules.min_n) or pair.total <= 0.0:
            continue
        # A one-sided test at alpha/rivals has the quantile of a two-sided interval at twice that.
        required = t_quantile(pair.n - 1, 1.0 - min(1.0, 2.0 * race.rules.alpha / rivals))
        error = math.sqrt(sums.variance / pair.n)
        t = sums.mean / error if error > 0.0 else math.inf
        if t >= required:
            numbers = {**_numbers(pair), "t": min(t, 1e9)}
            eliminations.append((t, Elimination(pair.loser, pair.winner, "fast", required, numbers)))
    yield from _strongest_first(eliminations)


def _strongest_first(found: list[tuple[float, Elimination]]) -> Iterator[Elimination]:
    # Ids decide between equals, so that the order in which pairs were stored does not.
    yield from (drop for _, drop in sorted(found, key=lambda entry: (-entry[0], entry[1].loser, entry[1].winner or 0)))


def _not_better(race: _Race, drops: Mapping[int, Elimination]) -> Iterator[Elimination]:
    """Stop what is shown not to be better than the leader by epsilon or more, be it level, or even ahead by less."""
    fresh = list(race.fresh_pairs())
    leader = _leader([c for c in race.active.values() if c.id not in drops], fresh)
    if leader is None:
        return
    required = threshold(race.rules, leader)
    # Who came back must have its chance first: another leader might have had the evidence against it all the time.
    spared = {c.id for c in race.ever if c.watermark <= c.resumed_at}
    for pair in fresh:
        if pair.winner != leader.id or pair.loser in spared:
            continue
        if (value := not_worse_value(pair, race.rules.population)) >= required:
            yield Elimination(pair.loser, leader.id, "epsilon", required, {**_numbers(pair), "e_value": value})


def _leader(left: Sequence[Contender], fresh: Sequence[Pair]) -> Contender | None:
    """Return the contender with the best worst paired difference; ties go to the earliest.

    Returns None before the first pair. Means are not used, because a config that has answered a few more examples might
    be ahead because of those examples alone.
    """
    ids = {c.id for c in left}
    margins = dict.fromkeys(ids, math.inf) if len(ids) == 1 else {}
    for pair in fresh:
        if pair.winner in ids and pair.loser in ids:
            margin = pair.total / math.sqrt(pair.squares) if pair.squares else 0.0
            margins[pair.winner] = min(margin, margins.get(pair.winner, math.inf))
    return min((c for c in left if c.id in margins), key=lambda c: (-margins[c.id], c.arrival), default=None)


def _eliminate_by_halving(race: _Race, fresh: Sequence[Pair]) -> Iterator[Elimination]:
    """Halve the field at each shard end passed: of 16 configs 8, 4, 2 and 1 remain.

    A clone counts from the point at which it is fresh. The decision is stateless, so a repeated check, or a config
    stopped by hand, does not stop any further config.
    """
    passed = min(c.watermark for c in race.active.values())
    looks = {c.id: sum(c.fresh_from < end <= passed for end in race.rules.shard_ends) for c in race.ever}
    n_survivors = math.ceil(sum(0.5**n for n in looks.values()))
    leads = _mean_leads([pair for pair in fresh if pair.loser in race.active])
    order = sorted((lead, -race.active[id].arrival, id) for id, lead in leads.items() if looks[id])
    for lead, _, id in order[: max(0, len(race.active) - n_survivors)]:
        yield Elimination(id, None, "halving", None, {"n": passed, "difference": lead, "kept": n_survivors})


def _mean_leads(fresh: Sequence[Pair]) -> dict[int, float]:
    """Return for each config its mean difference to the others, with missing halves counted both ways."""
    leads: dict[int, list[float]] = {}
    for pair in fresh:
        leads.setdefault(pair.winner, []).append(pair.total / pair.n)
        leads.setdefault(pair.loser, []).append(-pair.total / pair.n)
    return {id: math.fsum(values) / len(values) for id, values in leads.items()}


_BY_POLICY: dict[str, Callable[[_Race, Sequence[Pair]], Iterator[Elimination]]] = {
    "race_safe": _eliminate_by_evidence,
    "race_default": _eliminate_by_evidence,
    "race_fast": _eliminate_by_t_test,
    "halving": _eliminate_by_halving,
}
