"""Questions put to `estimate`, with everything a test does not care about filled in."""

from __future__ import annotations

import numpy as np

from evalsvc.stats.estimates.estimator import Estimate, compute_sums, estimate
from evalsvc.stats.kinds import kind_named

PASSES = [1.0] * 45 + [0.0] * 5


def ask(scores: list[float] | np.ndarray, strategy: str, kind: str = "algebraic", **changes: object) -> Estimate:
    arguments: dict[str, object] = {
        "population": 400,
        "level": 0.95,
        "value_range": (0.0, 1.0),
        "binary": True,
        "use_fpc": True,
        "scores": scores,
    }
    arguments |= {"scores" if name == "known" else name: value for name, value in changes.items()}
    return estimate(kind_named(kind), compute_sums(scores), strategy=strategy, **arguments)  # type: ignore[arg-type]


def shuffled(ones: int, zeros: int) -> np.ndarray:
    return np.random.default_rng(1).permutation(np.repeat([1.0, 0.0], [ones, zeros]))


def ends(found: Estimate) -> tuple[float, float]:
    assert found.lower is not None
    assert found.upper is not None
    return found.lower, found.upper
