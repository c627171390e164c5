"""Estimates that are worked out here, without numpy: a mean with its interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evalsvc.client.results.metrics import Metric

AT_THE_END = "interval at the end"


def estimate_mean(name: str, scores: Sequence[float], *, n_total: int, n_na: int = 0, level: float = 0.95) -> Metric:
    """Estimate the mean of scores computed here: Wilson's interval for zeros and ones, else Student's t.

    `n_na` rows lack what the metric needs; those that are left of `n_total` have failed.

    It covers new data like these, for one look. Numbers too few or too equal for that get no interval and a warning.
    """
    n = len(scores)
    failed = n_total - n - n_na
    if n == 0:
        return Metric(name, None, n=0, N=n_total, n_error=failed, n_na=n_na, level=level, warnings=("no scores",))
    mean = statistics.fmean(scores)
    z = statistics.NormalDist().inv_cdf(0.5 + level / 2)
    facts: dict[str, Any] = {"n": n, "N": n_total, "n_error": failed, "n_na": n_na, "level": level}
    facts |= {"covers": "new data", "safe": "one look", "this_set": _census(mean, failed)}
    small = ("n<30",) if n < 30 else ()
    if set(scores) <= {0.0, 1.0}:
        lower, upper = wilson_interval(mean, n, z)
        return _add_new_data(Metric(name, mean, lower, upper, method="wilson", warnings=small, **facts))
    stdev = statistics.stdev(scores) if n > 1 else 0.0
    if n < 6 or stdev == 0.0:
        reason = "all scores are equal" if n > 1 and stdev == 0.0 else "n<6"
        return Metric(name, mean, method=None, warnings=(reason,), **facts)
    half = _student_quantile(z, n - 1) * stdev / math.sqrt(n)
    return _add_new_data(Metric(name, mean, mean - half, mean + half, method="student-t", warnings=small, **facts))


def estimate_running_mean(name: str, scores: Sequence[float], *, n_total: int, level: float = 0.95) -> Metric:
    """Estimate the mean of scores while more of them come, by an interval that may be looked at each time.

    For zeros and ones it is that of the service (Howard et al. 2021, with a uniform prior over all proportions). Other
    scores have none until the end.
    """
    metric = estimate_mean(name, scores, n_total=n_total, level=level)
    facts: dict[str, Any] = {"lower": None, "upper": None, "method": None, "safe": "safe while watched"}
    if scores and set(scores) <= {0.0, 1.0}:
        lower, upper = anytime_interval(round(sum(scores)), len(scores), level)
        facts |= {"lower": lower, "upper": upper, "method": "beta-binomial"}
    elif scores:
        facts["warnings"] = (*metric.warnings, AT_THE_END)
    return _add_new_data(replace(metric, **facts))


def anytime_interval(successes: int, n: int, level: float) -> tuple[float, float]:
    """Return the proportions that no look so far has ruled out, at a level that holds for all looks together."""
    failures = n - successes
    constant = math.lgamma(n + 2) - math.lgamma(successes + 1) - math.lgamma(failures + 1)

    def find_edge(outside: float) -> float:
        inside = successes / n
        for _ in range(50):
            middle = (inside + outside) / 2.0
            is_kept = constant + successes * math.log(middle) + failures * math.log1p(-middle) > math.log1p(-level)
            inside, outside = (middle, outside) if is_kept else (inside, middle)
        return outside

    return find_edge(0.0) if successes else 0.0, find_edge(1.0) if failures else 1.0


def _add_new_data(metric: Metric) -> Metric:
    names = ("lower", "upper", "method", "safe")
    return replace(metric, new_data={name: getattr(metric, name) for name in names})


def _census(mean: float, failed: int) -> dict[str, Any]:
    """Return what is known of these rows: the mean itself, unless some failed, which may have been anything."""
    if failed:
        return {"lower": None, "upper": None, "method": "none", "exact": False}
    return {"lower": mean, "upper": mean, "method": "census", "exact": True}


def wilson_interval(p: float, n: int, z: float) -> tuple[float, float]:
    """Wilson (1927), score interval of a proportion."""
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def _student_quantile(z: float, df: int) -> float:
    """Quantile of Student's t from the normal one: Abramowitz and Stegun 26.7.5, to three digits from df = 5 at .95."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / df ** (i + 1) for i, term in enumerate(terms))
