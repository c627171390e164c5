"""From a stored history to the interval that an answer carries."""

from __future__ import annotations

import dataclasses
import zlib
from typing import Any

import numpy as np

from evalsvc.evaluations.memory import History
from evalsvc.stats.strategies import StrategyNotApplicable, interval_for
from evaluators.base import Family

LEVEL = 0.95
EXACT = ("full-history", "wilson", "clopper-pearson", "betting")


def interval_of(
    strategy: str, family: Family | None, history: History | None, *, level: float = LEVEL
) -> dict[str, Any] | None:
    """Return the interval over a history under the names of the wire, or null numbers and the reason.

    Without a family, as for scores that were made elsewhere, nothing is known of the range: any number may come next.
    `alpha` is the confidence level there. Resampling strategies are seeded from the history itself, so the same history
    always gives the same interval.
    """
    if strategy == "none":
        return None
    scores = history.scores if history is not None else np.empty(0)
    # Only resampling needs a seed, and making one reads the whole history.
    seed = zlib.crc32(scores.tobytes()) if strategy not in EXACT else 0
    try:
        limits, binary = (family.value_range, family.binary) if family else (None, None)
        found = interval_for(strategy, scores, level, value_range=limits, binary=binary, seed=seed)
    except StrategyNotApplicable as exc:
        return _without_numbers(strategy, level, len(scores), str(exc))
    answer = {"strategy": strategy, "alpha": level, **{name: getattr(found, name) for name in FIELDS}}
    answer["advice"] = dataclasses.asdict(found.advice) if found.advice else None
    answer["reason"] = "At least 2 captured scores are needed." if found.n < 2 else None
    return answer


FIELDS = ("lower", "median", "upper", "n", "method", "degenerate", "warnings", "autocorrelation_width_factor")


def _without_numbers(strategy: str, level: float, n: int, reason: str) -> dict[str, Any]:
    return {
        "strategy": strategy,
        "alpha": level,
        "lower": None,
        "median": None,
        "upper": None,
        "n": n,
        "method": None,
        "degenerate": False,
        "warnings": [],
        "autocorrelation_width_factor": None,
        "advice": None,
        "reason": reason,
    }
