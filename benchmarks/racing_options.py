"""What options of a plan change in simulated races: `errors`, `stop_when_decided`, and ranges wider than the scores.

    python -m benchmarks.racing_options              every case (a few minutes)
    python -m benchmarks.racing_options --races 25

Failing: of 16 configs (accuracies .45 to .80, 400 examples) eight fail at half of the examples, by their own fault. Decided:
two configs, right in .80 and .55, on 1319 examples. Ranges: 16 configs that score 1 to 5, raced in the range that is declared.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks.race import CONFIGS, EXAMPLES, Race, Scores
from benchmarks.racing import SCENARIOS, SEED, rules_for
from evalsvc.stats.race.elimination import Rules

N_FAILING, N_LARGE, WORKERS = CONFIGS // 2, 1319, 8
RANGES = ((1, 5), (0, 10), (0, 15), (0, 25), (0, 100))


def failing(races: int, *, worst: bool) -> tuple[float, float]:
    """Return the queries of a race in which half of the configs fail half of the time, and how many are left."""
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(races):
        scores = SCENARIOS[0].draw(rng)
        scores[:N_FAILING][rng.random((N_FAILING, EXAMPLES)) < 0.5] = 0.0 if worst else np.nan
        race = Race(scores, rules_for("race_default"), WORKERS).run()
        found.append((race.queries, len(race.left())))
    queries, left = np.mean(found, axis=0)
    return float(queries), float(left)


def decided(races: int, *, stop: bool) -> float:
    """Return the queries of a race of two configs on a large set."""
    rng = np.random.default_rng(SEED)
    ends = tuple(N_LARGE * (i + 1) // 8 for i in range(8))
    rules = Rules("race_default", 0.95, None, 2, None, N_LARGE, ends)
    found = []
    for _ in range(races):
        scores = (rng.random((2, N_LARGE)) < np.array([[0.80], [0.55]])).astype(float)
        found.append(Race(scores, rules, 1, stop_when_decided=stop).run().queries)
    return float(np.mean(found))


def stars(rng: np.random.Generator) -> Scores:
    """Return scores of 1 to 5."""
    means, common = rng.uniform(2.6, 4.2, CONFIGS)[:, None], rng.normal(0.0, 0.9, EXAMPLES)
    return np.clip(np.round(means + common + rng.normal(0.0, 0.9, (CONFIGS, EXAMPLES))), 1, 5)


def ranged(races: int, low: float, high: float) -> float:
    """Return the queries of a race of such scores in a declared range."""
    rng = np.random.default_rng(SEED)
    rows = ((stars(rng) - low) / (high - low) for _ in range(races))
    return float(np.mean([Race(row, rules_for("race_default"), WORKERS).run().queries for row in rows]))


def measured(races: int) -> list[str]:
    """Return the lines of the table; printed as it goes."""
    lines: list[str] = []

    def add(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    for name, worst in (("exclude", False), ("worst", True)):
        queries, left = failing(races, worst=worst)
        add(f"| eight of 16 fail at half, `failures` `{name}` | {queries:.0f} | {left:.1f} |")
    for name, stop in (("false", False), ("true", True)):
        add(f"| two on {N_LARGE}, `stop_when_decided` {name} | {decided(races, stop=stop):.0f} | 1.0 |")
    for low, high in RANGES:
        add(f"| scores of 1 to 5, declared {low} to {high} | {ranged(races, low, high):.0f} | |")
    return lines


def table(lines: Sequence[str]) -> str:
    """Return the table of the documentation."""
    return "\n".join(("| case | queries | configs left |", "|---|---:|---:|", *lines))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=50, help="races a line")
    print(table(measured(parser.parse_args().races)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
