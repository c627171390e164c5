"""Simulate races of configs with the service's own decision code: what each policy costs, how often the best is kept.

    python -m benchmarks.racing                     every scenario and policy (about ten minutes)
    python -m benchmarks.racing --quick             fewer races (a minute)
    python -m benchmarks.racing --lockstep          the config furthest behind always comes first, leader or not

16 configs answer 400 examples; each has a true accuracy, and examples are hard for all alike, to a degree. Workers take
units of 10 examples. When units complete, the workers take new ones before anything is decided, so every decision finds
workers x 10 queries in flight, which are paid for. Configs with nothing in flight come first, the one furthest behind
before the others; when all have a unit in flight the leader runs ahead, which it would have to do anyway. Kept means that
a config with the highest accuracy on the 400 is never stopped. Everything is seeded; the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.racing import Contender, Drop, Pair, Rules, advance_all, decide, differences, new_pair

Scores = NDArray[np.float64]
SEED = 20260301
CONFIGS, EXAMPLES, SHARDS, UNIT = 16, 400, 8, 10
SHARD_ENDS = tuple(EXAMPLES // SHARDS * (i + 1) for i in range(SHARDS))


@dataclass(frozen=True, slots=True)
class Scenario:
    """How alike the configs find the examples."""

    name: str
    latent: float

    def draw(self, rng: np.random.Generator) -> Scores:
        """Return scores of 0 and 1, one row a config, with this correlation between the rows' latent normals."""
        from scipy.special import ndtri  # type: ignore[import-untyped, unused-ignore]

        common = rng.normal(size=EXAMPLES) * math.sqrt(self.latent)
        own = rng.normal(size=(CONFIGS, EXAMPLES)) * math.sqrt(1.0 - self.latent)
        return (common + own < ndtri(rng.uniform(0.45, 0.80, CONFIGS))[:, None]).astype(np.float64)


SCENARIOS = (
    Scenario("correlation .39", 0.60),
    Scenario("correlation .29", 0.46),
    Scenario("correlation .69", 0.92),
)


@dataclass
class Race:
    """One race: who has answered what, who is in it, and what has been decided."""

    scores: Scores
    rules: Rules
    workers: int
    lockstep: bool = False
    clone: Scores | None = None
    clone_at: int = 0
    hindsight: bool = False
    contenders: dict[int, Contender] = field(default_factory=dict)
    claimed: dict[int, int] = field(default_factory=dict)
    pairs: dict[tuple[int, int], Pair] = field(default_factory=dict)
    flying: list[tuple[int, int]] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    queries: int = 0

    def run(self) -> Race:
        """Run until nobody has anything left to answer."""
        for i in range(len(self.scores)):
            self._enter(i, 0)
        self._claim()
        while self.flying:
            landed, self.flying = self.flying, []
            self._claim()
            for i, start in landed:
                self.contenders[i] = replace(self.contenders[i], watermark=min(EXAMPLES, start + UNIT))
            self._maybe_clone()
            self._decide()
            if not self.flying:
                self._claim()
        return self

    def left(self) -> list[int]:
        """Return the configs that were never stopped."""
        return [c.id for c in self.contenders.values() if c.is_active]

    def _enter(self, i: int, fresh_from: int) -> None:
        self.contenders[i], self.claimed[i] = Contender(i, i + 1, fresh_from, 0, True, 0.0, None), 0

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

    def _watermarks(self) -> list[int]:
        return [c.watermark for c in self.contenders.values() if c.is_active]

    def _claim(self) -> None:
        """Give every free worker a unit."""
        active = [c for c in self.contenders.values() if c.is_active]
        means = {c.id: float(self.scores[c.id, : c.watermark].mean()) if c.watermark else 0.0 for c in active}
        leader = max(active, key=lambda c: (means[c.id], -c.id)).id
        for _ in range(self.workers - len(self.flying)):
            open_to = [c for c in active if self.claimed[c.id] < self._limit(c, leader, len(active))]
            if not open_to:
                # Rather than leave a worker idle, the leader takes more of what it will be asked anyway.
                limit = min(EXAMPLES, min(self._watermarks()) + EXAMPLES // 2)
                open_to = [c for c in active if c.id == leader and self.claimed[leader] < limit]
            if not open_to:
                return
            chosen = min(open_to, key=lambda c: self._urgency(c, leader, means[c.id])).id
            taken = min(UNIT, EXAMPLES - self.claimed[chosen])
            self.flying.append((chosen, self.claimed[chosen]))
            self.claimed[chosen] += taken
            self.queries += taken

    def _limit(self, c: Contender, leader: int, active: int) -> int:
        """Return how far this config may run: by the window of the slowest, but for the leader."""
        if active == 1:
            return EXAMPLES
        window = 2 * UNIT
        if self.lockstep or c.id == leader:
            window = self._window_of_all(active)
        if c.id == leader and not self.lockstep:
            window = max(window, EXAMPLES // 4)
        return min(EXAMPLES, min(self._watermarks()) + window)

    def _window_of_all(self, active: int) -> int:
        return 2 * UNIT * math.ceil(self.workers / active)

    def _urgency(self, c: Contender, leader: int, mean: float) -> tuple[bool, int, float, int]:
        is_waiting = self.claimed[c.id] - c.watermark >= UNIT and c.id != leader
        if self.lockstep:
            return False, self.claimed[c.id], 0.0, c.id
        return is_waiting, self.claimed[c.id], -mean, c.id

    def _decide(self) -> None:
        if self.rules.policy == "manual":
            return
        self._observe()
        for drop in decide(self.rules, list(self.contenders.values()), self.pairs):
            self.drops.append(drop)
            self.contenders[drop.loser] = replace(self.contenders[drop.loser], is_active=False)

    def _observe(self) -> None:
        active = [c for c in self.contenders.values() if c.is_active]
        todo, rows = [], []
        for w in active:
            for loser in active:
                if w.id == loser.id:
                    continue
                start = max(w.fresh_from, loser.fresh_from)
                pair = self.pairs.get((w.id, loser.id)) or new_pair(w.id, loser.id, start, self.rules.epsilon)
                begin, end = pair.start + pair.n, min(w.watermark, loser.watermark)
                if end > begin:
                    todo.append(pair)
                    rows.append(differences(self.scores[w.id, begin:end], self.scores[loser.id, begin:end]))
        for pair in advance_all(todo, rows, EXAMPLES, self.rules.epsilon):
            self.pairs[pair.winner, pair.loser] = pair


def keep_best(scores: Scores, plan: tuple[int, ...]) -> tuple[int, bool]:
    """Follow the seed's rule: after shard s keep the plan[s] best by their mean so far, without waste."""
    left, queries = np.arange(len(scores)), 0
    for shard in range(SHARDS):
        queries += left.size * (EXAMPLES // SHARDS)
        if shard < len(plan):
            so_far = scores[left, : SHARD_ENDS[shard]].mean(axis=1)
            left = left[np.argsort(-so_far, kind="stable")[: plan[shard]]]
    return queries, is_kept(scores, left)


def is_kept(scores: Scores, left: NDArray[np.int64] | list[int]) -> bool:
    means = scores.mean(axis=1)
    return bool((means[left] >= means.max() - 1e-12).any())


def rules_for(policy: str, k_max: int | None = CONFIGS) -> Rules:
    return Rules(policy, 0.95, k_max if policy == "race_safe" else None, CONFIGS, None, EXAMPLES, SHARD_ENDS)


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table; errors are one standard error of the simulation."""

    scenario: str
    policy: str
    races: int
    queries: float
    queries_error: float
    kept: float
    kept_error: float

    @classmethod
    def of(cls, scenario: str, policy: str, found: list[tuple[int, bool]]) -> Measured:
        queries, kept = np.array([q for q, _ in found], dtype=float), np.array([k for _, k in found], dtype=float)
        n = len(found)
        # Add one of each, so that no miss among n races does not read as an error of zero.
        share = (kept.sum() + 1) / (n + 2)
        error = math.sqrt(share * (1 - share) / n)
        return cls(scenario, policy, n, queries.mean(), queries.std() / math.sqrt(n), kept.mean(), error)


def measure(scenario: Scenario, policy: str, races: int, workers: int, lockstep: bool) -> Measured:
    rng = np.random.default_rng(SEED)
    found = []
    for i in range(races):
        scores = scenario.draw(rng)
        if policy in PLANS:
            found.append(keep_best(scores, PLANS[policy]))
        else:
            race = Race(scores, rules_for(policy), workers, lockstep).run()
            found.append((race.queries, is_kept(scores, race.left())))
        if (i + 1) % 100 == 0:
            print(f"  {scenario.name} {policy}: {i + 1} of {races}", file=sys.stderr, flush=True)
    return Measured.of(scenario.name, policy, found)


PLANS = {"keep 1 after shard 1": (1,), "keep 5, then 1": (5, 1)}
POLICIES = ("manual", *PLANS, "halving", "race_fast", "race_default", "race_safe")
# By policy: most queries, in the first scenario, and how often the best must be kept, in all.
GOALS = {"race_default": (2100, 0.98), "race_safe": (0.6 * CONFIGS * EXAMPLES, 0.99)}


def shortfalls(lines: list[Measured]) -> list[str]:
    """Name every goal that was missed."""
    missed = []
    for m in lines:
        queries, kept = GOALS.get(m.policy, (math.inf, 0.0))
        if m.kept < kept or (m.scenario == SCENARIOS[0].name and m.queries > queries):
            missed.append(f"{m.policy}, {m.scenario}: {m.queries:.0f} queries, best kept {m.kept:.3f}")
    return missed


def designed_clones(policy: str, races: int, workers: int, *, hindsight: bool) -> float:
    """Return how often a clone stops anybody that copies the best answers revealed so far and is the poorest beyond."""
    rng = np.random.default_rng(SEED)
    won = 0
    for _ in range(races):
        scores = SCENARIOS[0].draw(rng)
        poorest = scores[scores.mean(axis=1).argmin()]
        rules = rules_for(policy, k_max=None)
        race = Race(scores, rules, workers, clone=poorest, clone_at=200, hindsight=hindsight).run()
        won += any(drop.winner == CONFIGS for drop in race.drops)
    return won / races


def clone_lines(races: int, workers: int) -> dict[str, float]:
    """Print and return how often a designed clone wins, by policy, as decided here and with its hindsight counted."""
    print("\nA clone that knows the answers revealed and is the poorest beyond stops somebody in:")
    found = {}
    for policy in ("race_default", "race_safe"):
        for name, hindsight in ((policy, False), (f"{policy}, with hindsight", True)):
            found[name] = designed_clones(policy, races, workers, hindsight=hindsight)
            print(f"| {name} | {found[name]:.1%} |", flush=True)
    return found


HEAD = "| examples | policy | queries of 6400 | best kept |\n|---|---|---:|---:|"


def line_of(m: Measured) -> str:
    queries = f"{m.queries:.0f} ± {m.queries_error:.0f}"
    return f"| {m.scenario} | `{m.policy}` | {queries} | {m.kept:.3f} ± {m.kept_error:.3f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60 races a line")
    parser.add_argument("--races", type=int, default=1000, help="races a line")
    parser.add_argument("--workers", type=int, default=8, help="units in flight at a time")
    parser.add_argument("--lockstep", action="store_true", help="the leader does not run ahead")
    parser.add_argument("--policies", nargs="*", default=POLICIES, choices=POLICIES)
    options = parser.parse_args()
    races = 60 if options.quick else options.races
    print(HEAD, flush=True)
    lines = []
    for scenario in SCENARIOS:
        for policy in options.policies:
            lines.append(measure(scenario, policy, races, options.workers, options.lockstep))
            print(line_of(lines[-1]), flush=True)
    clones = clone_lines(races // 2, options.workers) if options.policies == POLICIES else {}
    missed = shortfalls(lines)
    print("goals missed: " + ("; ".join(missed) or "none"))
    print(json.dumps({"lines": [asdict(m) for m in lines], "clones": clones, "missed": missed, **vars(options)}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
