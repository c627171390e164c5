"""Simulate races of configs with the service's own decision code: what each policy costs, how often the best is kept.

    python -m benchmarks.racing                     every scenario and policy (about ten minutes)
    python -m benchmarks.racing --quick             fewer races (a minute)
    python -m benchmarks.racing --epsilons          only what an epsilon saves
    python -m benchmarks.racing --lockstep          the config furthest behind always comes first, leader or not

16 configs answer 400 examples; each has a true accuracy, and examples are hard for all alike, to a degree. In the chain
the accuracies are .80, .78, .76 and so on: each a near-tie of the next. Kept means that the winner, the best of those that
were asked to the end, is on the 400 as good as any config, or not worse by more than epsilon where there is one. How
workers go on: `benchmarks.race`. Everything is seeded; the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.race import CONFIGS, EXAMPLES, SHARDS, Race, Scores
from evalsvc.stats.race.elimination import Rules

SEED = 20260301
SHARD_ENDS = tuple(EXAMPLES // SHARDS * (i + 1) for i in range(SHARDS))


CHAIN = 0.80 - 0.02 * np.arange(CONFIGS)


@dataclass(frozen=True, slots=True)
class Scenario:
    """How alike the configs find the examples, and how far apart they are."""

    name: str
    latent: float
    is_chain: bool = False

    def draw(self, rng: np.random.Generator) -> Scores:
        """Return scores of 0 and 1, one row a config, with this correlation between the rows' latent normals."""
        from scipy.special import ndtri  # type: ignore[import-untyped, unused-ignore]

        common = rng.normal(size=EXAMPLES) * math.sqrt(self.latent)
        own = rng.normal(size=(CONFIGS, EXAMPLES)) * math.sqrt(1.0 - self.latent)
        accuracies = rng.permutation(CHAIN) if self.is_chain else rng.uniform(0.45, 0.80, CONFIGS)
        return (common + own < ndtri(accuracies)[:, None]).astype(np.float64)


SCENARIOS = (
    Scenario("correlation .39", 0.60),
    Scenario("correlation .29", 0.46),
    Scenario("correlation .69", 0.92),
)
NEAR_TIES = Scenario("near-ties", 0.60, is_chain=True)


def keep_best(scores: Scores, plan: tuple[int, ...]) -> tuple[int, bool]:
    """Follow the seed's rule: after shard s keep the plan[s] best by their mean so far, without waste."""
    left, queries = np.arange(len(scores)), 0
    for shard in range(SHARDS):
        queries += left.size * (EXAMPLES // SHARDS)
        if shard < len(plan):
            so_far = scores[left, : SHARD_ENDS[shard]].mean(axis=1)
            left = left[np.argsort(-so_far, kind="stable")[: plan[shard]]]
    return queries, is_kept(scores, left)


def is_kept(scores: Scores, left: NDArray[np.int64] | list[int], epsilon: float | None = None) -> bool:
    means = scores.mean(axis=1)
    return bool(means[left].max() >= means.max() - (epsilon or 0.0) - 1e-12)


def rules_for(policy: str, k_max: int | None = CONFIGS, epsilon: float | None = None) -> Rules:
    return Rules(policy, 0.95, k_max if policy == "race_safe" else None, CONFIGS, epsilon, EXAMPLES, SHARD_ENDS)


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table; errors are one standard error of the simulation."""

    scenario: str
    policy: str
    epsilon: float | None
    races: int
    queries: float
    queries_error: float
    kept: float
    kept_error: float
    resumed: float

    @classmethod
    def of(cls, scenario: str, policy: str, epsilon: float | None, found: list[tuple[int, bool, int]]) -> Measured:
        queries, kept, resumed = np.array(found, dtype=float).T
        n = len(found)
        # Add one of each, so that no miss among n races does not read as an error of zero.
        share = (kept.sum() + 1) / (n + 2)
        error = math.sqrt(share * (1 - share) / n)
        paid = float(queries.mean()), float(queries.std() / math.sqrt(n))
        return cls(scenario, policy, epsilon, n, *paid, float(kept.mean()), error, float(resumed.mean()))


def measure(
    scenario: Scenario,
    policy: str,
    races: int,
    workers: int,
    lockstep: bool,
    epsilon: float | None = None,
    seed: int = SEED,
) -> Measured:
    rng = np.random.default_rng(seed)
    found = []
    for i in range(races):
        scores = scenario.draw(rng)
        if policy in PLANS:
            found.append((*keep_best(scores, PLANS[policy]), 0))
        else:
            race = Race(scores, rules_for(policy, epsilon=epsilon), workers, lockstep).run()
            found.append((race.queries, is_kept(scores, race.left(), epsilon), race.n_resumed))
        if (i + 1) % 100 == 0:
            print(f"  {scenario.name} {policy}: {i + 1} of {races}", file=sys.stderr, flush=True)
    return Measured.of(scenario.name, policy, epsilon, found)


PLANS = {"keep 1 after shard 1": (1,), "keep 5, then 1": (5, 1)}
POLICIES = ("manual", *PLANS, "halving", "race_fast", "race_default", "race_safe")
EPSILONS = (None, 0.01, 0.02, 0.03, 0.05)
# By policy and epsilon: most queries, in the first scenario, and how often the best must be kept, in all.
GOALS = {
    ("race_default", None): (2150, 0.98),
    ("race_default", 0.03): (1700, 0.99),
    ("race_safe", None): (0.6 * CONFIGS * EXAMPLES, 0.99),
}


def shortfalls(lines: list[Measured]) -> list[str]:
    """Name every goal that was missed."""
    missed = []
    for m in lines:
        queries, kept = GOALS.get((m.policy, m.epsilon), (math.inf, 0.0))
        if m.kept < kept or (m.scenario == SCENARIOS[0].name and m.queries > queries):
            missed.append(f"{name_of(m)}, {m.scenario}: {m.queries:.0f} queries, best kept {m.kept:.3f}")
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


POLICY_HEAD = ("| examples | policy | queries of 6400 | best kept |", "|---|---|---:|---:|")
EPSILON_HEAD = (
    "| examples | epsilon | queries of 6400 | winner within epsilon | resumed a race |",
    "|---|---:|---:|---:|---:|",
)


def policy_lines(
    races: int,
    workers: int,
    policies: Sequence[str] = POLICIES,
    scenarios: Sequence[Scenario] = SCENARIOS,
    *,
    lockstep: bool = False,
) -> list[Measured]:
    """Return what each policy costs and keeps; printed as it goes."""
    print("\n".join(POLICY_HEAD), flush=True)
    lines = []
    for scenario in scenarios:
        for policy in policies:
            lines.append(measure(scenario, policy, races, workers, lockstep))
            print(policy_line(lines[-1]), flush=True)
    return lines


def epsilon_lines(
    races: int,
    workers: int,
    epsilons: Sequence[float | None] = EPSILONS,
    scenarios: Sequence[Scenario] = (SCENARIOS[0], NEAR_TIES),
    *,
    seed: int = SEED,
) -> list[Measured]:
    """Return what an epsilon saves, and how often the winner is within it; printed as it goes."""
    print("\n".join(("", *EPSILON_HEAD)), flush=True)
    found = []
    for scenario in scenarios:
        for epsilon in epsilons:
            found.append(measure(scenario, "race_default", races, workers, False, epsilon, seed))
            print(epsilon_line(found[-1]), flush=True)
    return found


def policy_table(lines: Sequence[Measured]) -> str:
    """Return the table of the documentation."""
    return "\n".join((*POLICY_HEAD, *map(policy_line, lines)))


def epsilon_table(lines: Sequence[Measured]) -> str:
    """Return the table of the documentation."""
    return "\n".join((*EPSILON_HEAD, *map(epsilon_line, lines)))


def name_of(m: Measured) -> str:
    return m.policy if m.epsilon is None else f"{m.policy}, epsilon {m.epsilon}"


def policy_line(m: Measured) -> str:
    queries = f"{m.queries:.0f} ± {m.queries_error:.0f}"
    return f"| {m.scenario} | `{m.policy}` | {queries} | {m.kept:.3f} ± {m.kept_error:.3f} |"


def epsilon_line(m: Measured) -> str:
    figures = f"{m.queries:.0f} ± {m.queries_error:.0f} | {m.kept:.3f} ± {m.kept_error:.3f} | {m.resumed:.2f}"
    return f"| {m.scenario} | {m.epsilon or 'none'} | {figures} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60 races a line")
    parser.add_argument("--races", type=int, default=1000, help="races a line")
    parser.add_argument("--workers", type=int, default=8, help="units in flight at a time")
    parser.add_argument("--lockstep", action="store_true", help="the leader does not run ahead")
    parser.add_argument("--policies", nargs="*", default=POLICIES, choices=POLICIES)
    parser.add_argument("--epsilons", action="store_true", help="only the races with an epsilon")
    options = parser.parse_args()
    races = 60 if options.quick else options.races
    lines = []
    if not options.epsilons:
        lines += policy_lines(races, options.workers, options.policies, lockstep=options.lockstep)
    lines += epsilon_lines(races, options.workers) if options.epsilons or options.policies == POLICIES else []
    clones = {} if options.epsilons or options.policies != POLICIES else clone_lines(races // 2, options.workers)
    missed = shortfalls(lines)
    print("goals missed: " + ("; ".join(missed) or "none"))
    print(json.dumps({"lines": [asdict(m) for m in lines], "clones": clones, "missed": missed, **vars(options)}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
