"""From a stored history to the interval that an answer carries."""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np

from evalsvc.evaluations.history.cache import FACT_BYTES, HistorySnapshot
from evalsvc.evaluations.history.packed import Verdicts, unpack_verdicts
from evalsvc.evaluations.wire.interval_request import EPOCH, IntervalOptions
from evalsvc.evaluations.wire.scores import NO_THRESHOLD
from evalsvc.stats.histories.batches import MIXED, homogeneity_p_value
from evalsvc.stats.histories.drift import LEAST, detect_drift
from evalsvc.stats.strategies.answers import interval_for
from evalsvc.stats.strategies.of_histories import StrategyNotApplicable
from evalsvc.stats.strategies.registry import history_rule
from evaluators.base import Family

SOURCES = ("evaluation", "experiment", "import")
EXPERIMENT = SOURCES.index("experiment")
FIELDS = ("lower", "median", "upper", "n", "method", "degenerate", "warnings", "autocorrelation_width_factor")
_NO_SCORES = np.empty(0)
_NO_MARKS = np.empty(0, np.int32)
# Just below where Kolmogorov's distribution leaves one in a hundred.
REACH = 1.62


@dataclass(frozen=True, slots=True)
class Window:
    """The values that an interval is computed from, their ids, and other facts about each value.

    `marks` is four times the profile's revision plus the index of the value's source. If `verdicts` is set, which is
    the usual case, all marks are equal and `marks` is left empty.
    """

    values: Any
    ids: Any
    marks: Any
    n_no_verdict: int = 0
    verdicts: Verdicts | None = None


def get_default_estimand(family: Family | None) -> str:
    """Return the default estimand: `pass` for families that are `binary` or `by_verdict`, else `score`."""
    return "pass" if family is not None and (family.binary or family.by_verdict) else "score"


def answer_interval(
    ask: IntervalOptions, family: Family | None, history: HistorySnapshot | None, *, has_verdict: bool = True
) -> dict[str, Any] | None:
    """Return the interval over a history under the names of the wire, or null numbers and the reason.

    `has_verdict` is false for a profile without a threshold: its pass rate is null, with the reason, even if verdicts
    of an earlier release are stored. Without a family, as for scores that were made elsewhere, nothing is known of the
    range: any number may come next.
    `alpha` is the confidence level there. Resampling strategies are seeded from the history itself, so the same history
    always gives the same interval.
    """
    if ask.strategy == "none":
        return None
    of = ask.of or get_default_estimand(family)
    window = interval_values(history, of, ask.most, has_verdict=has_verdict)
    answer = {
        "strategy": ask.strategy,
        "alpha": ask.level,
        "of": of,
        **compute_interval(ask, of, family, window, has_verdict=has_verdict),
    }
    answer |= {"reason": NO_THRESHOLD} if of == "pass" and not has_verdict else {}
    answer |= {"n_no_verdict": window.n_no_verdict, "sources": count_sources(window)}
    answer |= {"scope": ask.scope_json, "since": ask.since_json, "include_experiments": ask.include_experiments}
    answer["warnings"], answer["suggested_since"] = _collect_warnings(answer["warnings"], window)
    if (drift := _drift(ask, of, family, window)) is not None:
        answer["warnings"].append("drift")
    answer["drift"] = drift
    return answer


def interval_values(history: HistorySnapshot | None, of: str, most: int | None, *, has_verdict: bool = True) -> Window:
    """Return the values that an interval is computed from, newest first.

    For `pass`, these are the verdicts as given at the time; scores without a verdict are left out.
    """
    if history is None or not history.score_bytes:
        return Window(_NO_SCORES, _NO_SCORES, _NO_MARKS)
    ids = np.frombuffer(history.id_bytes, np.int64)[:most]
    if of == "pass" and not has_verdict:
        return Window(_NO_SCORES, _NO_SCORES, _NO_MARKS, n_no_verdict=int(ids.size))
    if of == "pass" and (alike := unpack_verdicts(history.fact_bytes[: most and most * FACT_BYTES])):
        return Window(alike.row, ids, _NO_MARKS, verdicts=alike)
    facts = history.facts[:most]
    values: Any = history.scores[:most]
    n_no_verdict = 0
    if of == "pass":
        verdicts = facts & 3
        is_judged = verdicts > 0
        n_no_verdict = int(is_judged.size - np.count_nonzero(is_judged))
        facts, ids = facts[is_judged], ids[is_judged]
        values = verdicts[is_judged] - 1.0
    return Window(values, ids, facts >> 2, n_no_verdict)


def compute_interval(
    ask: IntervalOptions, of: str, family: Family | None, window: Window, *, has_verdict: bool = True
) -> dict[str, Any]:
    """Return the interval of a window's values, or null numbers and the reason."""
    limits, binary = (family.value_range, family.binary) if family else (None, None)
    if of == "pass":
        limits, binary = (0.0, 1.0), True
    # Only resampling needs a seed, and making one reads the whole history.
    seed = zlib.crc32(window.values.tobytes()) if history_rule(ask.strategy).draws else 0
    try:
        interval = interval_for(ask.strategy, window.values, ask.level, value_range=limits, binary=binary, seed=seed)
    except StrategyNotApplicable as exc:
        hint = " Ask for it with `of`: `pass`." if of == "score" and has_verdict else ""
        return _build_null_interval(len(window.values), f"{exc}{hint}")
    numbers: dict[str, Any] = {name: getattr(interval, name) for name in FIELDS}
    numbers["advice"] = dataclasses.asdict(interval.advice) if interval.advice else None
    what = "scores with a verdict" if window.n_no_verdict else "captured scores"
    numbers["reason"] = None
    if interval.n < 2:
        is_unjudged = family is not None and window.n_no_verdict and not interval.n
        numbers["reason"] = NO_THRESHOLD if is_unjudged else f"At least 2 {what} are needed."
    return numbers


def select_bounds(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ends of an interval and its method: of equal scores those that are advised."""
    if not numbers["degenerate"]:
        return {name: numbers[name] for name in ("lower", "upper", "method")}
    advice = numbers["advice"] or {}
    return {"lower": advice.get("lower"), "upper": advice.get("upper"), "method": advice.get("kind")}


def count_sources(window: Window) -> dict[str, dict[str, object]]:
    """Return how many of the values come from where, and the mean of each part."""
    if window.verdicts is not None:
        counts, sums = [0, 0, 0], [0.0, 0.0, 0.0]
        counts[window.verdicts.source] = window.values.size
        sums[window.verdicts.source] = float(window.verdicts.n_passed)
    else:
        counts = np.bincount(window.marks & 3, minlength=3).tolist()
        sums = np.bincount(window.marks & 3, window.values, 3).tolist()
    return {
        name: {"n": n, "rate": total / n if n else None} for name, n, total in zip(SOURCES, counts, sums, strict=True)
    }


def _collect_warnings(warnings: tuple[str, ...], window: Window) -> tuple[list[str], Mapping[str, int] | None]:
    """Add what is doubtful about the window: parts that differ, and verdicts by different revisions of the profile."""
    warning_codes, since = list(warnings), None
    if window.verdicts is not None:
        return warning_codes, None
    chance = homogeneity_p_value(window.values, window.marks & 3)
    if chance is not None and chance < MIXED:
        warning_codes.append("mixed_sources")
    revisions = window.marks >> 2
    known_revisions = revisions[revisions > 0]
    if known_revisions.size and (newest := int(known_revisions.max())) != int(known_revisions.min()):
        warning_codes.append("mixed_revisions")
        since = {"revision": newest}
    return warning_codes, since


def _drift(ask: IntervalOptions, of: str, family: Family | None, window: Window) -> dict[str, Any] | None:
    """Return when the level of what was captured shifted, the means on either side, and the interval since then.

    What experiments promoted is left out: where it begins, the source of the scores has changed, and not their level.
    """
    window = exclude_experiments(window)
    steady = window.verdicts is not None and not window.verdicts.may_have_moved(REACH)
    if window.values.size < LEAST or steady or not _may_have_moved(window.values):
        return None
    drift = detect_drift(window.values[::-1])
    if drift is None:
        return None
    n_since = window.values.size - drift.changed_at
    numbers = compute_interval(ask, of, family, replace(window, values=window.values[:n_since]))
    summary = {name: numbers[name] for name in ("median", "n")} | select_bounds(numbers)
    moment = EPOCH + timedelta(milliseconds=int(window.ids[n_since - 1]) >> 22)
    return {"changed_at": moment.isoformat(), "before": drift.before, "after": drift.after, **summary}


def exclude_experiments(window: Window) -> Window:
    """Return a window without the outputs of experiments."""
    if window.verdicts is not None:
        return window if window.verdicts.source != EXPERIMENT else Window(_NO_SCORES, _NO_SCORES, _NO_MARKS)
    mask = (window.marks & 3) != EXPERIMENT
    if mask.all():
        return window
    return replace(window, values=window.values[mask], ids=window.ids[mask], marks=window.marks[mask])


def _may_have_moved(values: Any) -> bool:
    """Return whether `detect_drift` may find a shift.

    Its own test without what only makes it milder, in a few steps.
    """
    n = values.size
    apart = values - values.sum() / n
    sums = np.abs(np.cumsum(apart))
    split = int(sums[:-1].argmax()) + 1
    furthest = float(sums[split - 1])
    residual = float(apart @ apart) - furthest**2 * n / (split * (n - split))
    return residual <= 0.0 or furthest >= REACH * math.sqrt(residual / (n - 2) * n)


def _build_null_interval(n: int, reason: str) -> dict[str, Any]:
    return {
        "lower": None,
        "median": None,
        "upper": None,
        "n": n,
        "method": None,
        "degenerate": False,
        "warnings": (),
        "autocorrelation_width_factor": None,
        "advice": None,
        "reason": reason,
    }
