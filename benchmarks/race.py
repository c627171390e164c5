"""One simulated race, decided by the service's own code: who answers what when, who is stopped, and who comes back.

Workers take units of 10 examples. When units complete, the workers take new ones before anything is decided, so every
decision finds workers x 10 queries in flight, which are paid for. Configs with nothing in flight come first, the one
furthest behind before the others; when all have a unit in flight the leader runs ahead, which it would have to do anyway.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.race.elimination import (
    Contender,
    Elimination,
    Pair,
    Rules,
    advance_all,
    decide,
    differences,
    new_pair,
    unsupported,
)

Scores = NDArray[np.float64]
CONFIGS, EXAMPLES, SHARDS, UNIT = 16, 400, 8, 10


@dataclass
class Race:
    """One race: who has answered what, who is in it, and what has been decided.

    `scores` has a row for each config, rescaled to [0, 1], NaN where it fails. `stop_when_decided`: the last config in
    the race is not asked on.
    """

    scores: Scores
    rules: Rules
    workers: int
    lockstep: bool = False
    stop_when_decided: bool = False
    clone: Scores | None = None
    clone_at: int = 0
    hindsight: bool = False
    contenders: dict[int, Contender] = field(default_factory=dict)
    claimed: dict[int, int] = field(default_factory=dict)
    pairs: dict[tuple[int, int], Pair] = field(default_factory=dict)
    flying: list[tuple[int, int]] = field(default_factory=list)
    drops: list[Elimination] = field(default_factory=list)
    stops: dict[int, Elimination] = field(default_factory=dict)
    n_resumed: int = 0
    queries: int = 0

    @property
    def n_examples(self) -> int:
        """Return how many examples each config is to answer."""
        return self.rules.shard_ends[-1]

    def run(self) -> Race:
        """Run until nobody has anything left to answer."""
        for i in range(len(self.scores)):
            self._enter(i, 0)
        self._claim()
        while self.flying:
            landed, self.flying = self.flying, []
            self._claim()
            for i, start in landed:
                self.contenders[i] = replace(self.contenders[i], watermark=min(self.n_examples, start + UNIT))
            self._maybe_clone()
            self._decide()
            if not self.flying:
                self._claim()
        return self

    def left(self) -> list[int]:
        """Return the configs that are in the race."""
        return [c.id for c in self.contenders.values() if c.is_active]

    def _enter(self, i: int, fresh_from: int) -> None:
        self.contenders[i], self.claimed[i] = Contender(i, i + 1, fresh_from, 0, True), 0

    def _maybe_clone(self) -> None:
        if self.clone is None or min(self._watermarks()) < self.clone_at:
            return
        revealed = max(self.claimed.values())
        self.scores = np.vstack([self.scores, self._designed(revealed)])
        self.clone = None
        # With hindsight: what happens where a clone may count what its designer saw.
        self._enter(len(self.scores) - 1, 0 if self.hindsight else revealed)

    def _designed(self, seen: int) -> Scores:
        """Return a clone that answers as well as anyone on what has been revealed, and badly beyond."""
        assert self.clone is not None
        return np.concatenate([self.scores[:, :seen].max(axis=0), self.clone[seen:]])

    # --- Who is asked next -------------------------------------------------------------------------------------------

    def _watermarks(self) -> list[int]:
        return [c.watermark for c in self.contenders.values() if c.is_active]

    def _claim(self) -> None:
        """Give every free worker a unit."""
        active = [c for c in self.contenders.values() if c.is_active]
        if self.stop_when_decided and len(active) == 1 and self.stops:
            return
        means = {c.id: self._mean(c) for c in active}
        leader = max(active, key=lambda c: (means[c.id], -c.id)).id
        for _ in range(self.workers - len(self.flying)):
            open_to = [c for c in active if self.claimed[c.id] < self._limit(c, leader, len(active))]
            if not open_to:
                # Rather than leave a worker idle, the leader takes more of what it will be asked anyway.
                limit = min(self.n_examples, min(self._watermarks()) + self.n_examples // 2)
                open_to = [c for c in active if c.id == leader and self.claimed[leader] < limit]
            if not open_to:
                return
            chosen = min(open_to, key=lambda c: self._urgency(c, leader, means[c.id])).id
            taken = min(UNIT, self.n_examples - self.claimed[chosen])
            self.flying.append((chosen, self.claimed[chosen]))
            self.claimed[chosen] += taken
            self.queries += taken

    def _mean(self, c: Contender) -> float:
        seen = self.scores[c.id, : c.watermark]
        seen = seen[~np.isnan(seen)]
        return float(seen.mean()) if seen.size else 0.0

    def _limit(self, c: Contender, leader: int, active: int) -> int:
        """Return how far this config may run: by the window of the slowest, but for the leader."""
        if active == 1:
            return self.n_examples
        window = 2 * UNIT
        if self.lockstep or c.id == leader:
            window = self._window_of_all(active)
        if c.id == leader and not self.lockstep:
            window = max(window, self.n_examples // 4)
        return min(self.n_examples, min(self._watermarks()) + window)

    def _window_of_all(self, active: int) -> int:
        return 2 * UNIT * math.ceil(self.workers / active)

    def _urgency(self, c: Contender, leader: int, mean: float) -> tuple[bool, int, float, int]:
        is_waiting = self.claimed[c.id] - c.watermark >= UNIT and c.id != leader
        if self.lockstep:
            return False, self.claimed[c.id], 0.0, c.id
        return is_waiting, self.claimed[c.id], -mean, c.id

    # --- Who is stopped ----------------------------------------------------------------------------------------------

    def _decide(self) -> None:
        if self.rules.policy == "manual":
            return
        while self._decide_once():
            pass

    def _decide_once(self) -> bool:
        """Stop, and test again whose stop rests on nobody; say whether anything has changed."""
        waiting = unsupported(self.stops, self.left())
        self._observe([*self.left(), *waiting])
        seen = [replace(c, is_waiting=c.id in waiting) for c in self.contenders.values()]
        drops = {drop.loser: drop for drop in decide(self.rules, seen, self.pairs)}
        for loser, drop in drops.items():
            self.drops.append(drop)
            self.stops[loser] = drop
            self.contenders[loser] = replace(self.contenders[loser], is_active=False)
        for i in waiting - drops.keys():
            self.n_resumed += 1
            del self.stops[i]
            c = self.contenders[i]
            self.contenders[i] = replace(c, is_active=True, resumed_at=c.watermark)
        return bool(drops or waiting)

    def _observe(self, ids: list[int]) -> None:
        todo, rows = [], []
        for w in (self.contenders[i] for i in ids):
            for loser in (self.contenders[i] for i in ids if i != w.id):
                start = max(w.fresh_from, loser.fresh_from)
                pair = self.pairs.get((w.id, loser.id)) or new_pair(w.id, loser.id, start, self.rules.epsilon)
                begin, end = pair.start + pair.n, min(w.watermark, loser.watermark)
                if end > begin:
                    todo.append(pair)
                    rows.append(differences(self.scores[w.id, begin:end], self.scores[loser.id, begin:end]))
        for pair in advance_all(todo, rows, self.rules.population, self.rules.epsilon):
            self.pairs[pair.winner, pair.loser] = pair
