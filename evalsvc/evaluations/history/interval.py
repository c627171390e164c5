"""From a stored history to the interval that an answer carries."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalsvc.evaluations.history.cache import FACT_BYTES, HistorySnapshot
from evalsvc.evaluations.history.packed import Verdicts, count_sent_undecided, count_unjudged, unpack_verdicts
from evalsvc.evaluations.wire.interval_request import AUTO, IntervalOptions
from evalsvc.evaluations.wire.scores import NO_THRESHOLD
from evalsvc.stats.basics.results import HistoryInterval
from evalsvc.stats.basics.rows import IntervalRows
from evalsvc.stats.estimates.bounds import MOST_SHARE, bound_pass_rate
from evalsvc.stats.histories.batches import MIXED, batched_interval, homogeneity_p_value
from evalsvc.stats.histories.weighted import hajek_mean, weighted_interval
from evalsvc.stats.strategies.answers import interval_for
from evalsvc.stats.strategies.of_histories import StrategyNotApplicable
from evalsvc.stats.strategies.registry import history_rule
from evaluators.base import Family

SOURCES = ("evaluation", "experiment", "import")
EXPERIMENT = SOURCES.index("experiment")
ROWS = tuple(field.name for field in dataclasses.fields(IntervalRows))
FIELDS = ("lower", "median", "upper", "n", "method", "degenerate", "warnings", "autocorrelation_width_factor")
# Of the values of a window: more than this, and they are not independent.
MAX_REPEATED = 0.05
UNDECIDED_CODE = 3
"""Of a score made elsewhere, in place of its verdict."""
ALL_UNDECIDED = "No score is decided: the evaluator could not tell pass from fail."
UNWEIGHTED = "unweighted"
NO_RANGE = "All scores are equal and their range is unknown. Scores that are sent with `value_range` get an interval."
_NO_SCORES = np.empty(0)
_NO_IDS = np.empty(0, np.int64)
_NO_MARKS = np.empty(0, np.int32)


@dataclass(frozen=True)
class Window:
    """The values that an interval is computed from, their ids, and other facts about each value.

    `marks` is four times the profile's revision plus the index of the value's source. If `verdicts` is set, which is
    the usual case, all marks are equal and `marks` is left empty. `hashes` and `batches` are the samples and batches of
    the values, and `clusters` their values of the tag in `cluster_by`, as int64. `probabilities` are those with which
    rules drew the values; None where no rule drew any.
    """

    values: Any
    ids: Any
    marks: Any
    hashes: Any
    batches: Any
    clusters: Any = None
    n_no_verdict: int = 0
    verdicts: Verdicts | None = None
    chosen_among: int | None = None
    probabilities: Any = None
    unjudged_probabilities: Any = None
    """Those of the rows without a verdict, where the values have probabilities."""

    @cached_property
    def has_unequal_probabilities(self) -> bool:
        """Whether some values were drawn with another probability than others."""
        return self.probabilities is not None and self.values.size > 0 and float(np.ptp(self.probabilities)) > 0.0

    @cached_property
    def n_distinct(self) -> int:
        """How many samples the values are of."""
        # Not `np.unique`, which gives up the interpreter's lock.
        return len(set(self.hashes.tolist()))

    @property
    def has_repeats(self) -> bool:
        """Whether more than one in twenty values are of a sample that another value is of as well."""
        n = int(self.values.size)
        return n >= 2 and n - self.n_distinct > MAX_REPEATED * n

    def select(self, rows: Any) -> Window:
        """Return the values in a slice or mask, with the facts about them."""
        return replace(
            self,
            values=self.values[rows],
            ids=self.ids[rows],
            marks=self.marks[rows] if self.marks.size else self.marks,
            hashes=self.hashes[rows],
            batches=self.batches[rows],
            clusters=None if self.clusters is None else self.clusters[rows],
            probabilities=None if self.probabilities is None else self.probabilities[rows],
        )

    def select_judged(self, is_judged: Any, values: Any) -> Window:
        """Return the rows in a mask with their verdicts as values, and the probabilities of the others."""
        unjudged = None if self.probabilities is None else self.probabilities[~is_judged]
        n_no_verdict = int(is_judged.size) - int(values.size)
        return replace(
            self.select(is_judged), values=values, n_no_verdict=n_no_verdict, unjudged_probabilities=unjudged
        )


def get_default_estimand(family: Family | None, history: HistorySnapshot | None, most: int | None) -> str:
    """Return the default estimand: `pass` for families that are `binary` or `by_verdict`, else `score`.

    Scores that were made elsewhere have no family. If each of them is its verdict, 1 for pass and 0 for fail, their
    mean is the pass rate, whose range is known: `pass`.
    """
    if family is not None:
        return "pass" if family.binary or family.by_verdict else "score"
    if history is None or not history.score_bytes:
        return "score"
    verdicts = history.facts[:most] & 3
    is_judged = (verdicts == 1) | (verdicts == 2)
    # Undecided ones have scores of their own.
    is_pass_rate = 2 * int(is_judged.sum()) > int((verdicts != UNDECIDED_CODE).sum())
    return (
        "pass"
        if is_pass_rate and np.array_equal(history.scores[:most][is_judged], verdicts[is_judged] - 1.0)
        else "score"
    )


def answer_interval(
    ask: IntervalOptions,
    family: Family | None,
    history: HistorySnapshot | None,
    *,
    has_verdict: bool = True,
    declared: tuple[float, float] | None = None,
) -> dict[str, Any] | None:
    """Return the interval over a history under the names of the wire, or null numbers and the reason.

    `has_verdict` is false for a profile without a threshold: its pass rate is null, with the reason, even if verdicts
    of an earlier release are stored. Without a family, as for scores that were made elsewhere, the range is the one
    `declared` with them; if none was, any number may come next.
    `alpha` is the confidence level there. Resampling strategies are seeded from the history itself, so the same history
    always gives the same interval.
    """
    if ask.strategy == "none":
        return None
    of = ask.of or get_default_estimand(family, history, ask.most)
    window = interval_values(history, of, ask.most, has_verdict=has_verdict)
    numbers = compute_interval(ask, of, family, window, has_verdict=has_verdict, declared=declared)
    answer = {"strategy": ask.strategy, "alpha": ask.level, "of": of, **numbers}
    answer |= {"reason": NO_THRESHOLD} if of == "pass" and not has_verdict else {}
    weights = find_weights(ask, window)
    sources = count_sources(window, weights)
    n_undecided = count_undecided(family, history, ask.most) if has_verdict else 0
    n_eff, n_undecided_rows = answer.pop("n_eff"), min(n_undecided, window.n_no_verdict)
    rows = count_rows(window, sources, n_undecided=n_undecided_rows, weighted=weights is not None, n_eff=n_eff)
    answer |= {"n_distinct": rows.n_distinct, "rows": {name: getattr(rows, name) for name in ROWS}}
    answer |= {"n_no_verdict": window.n_no_verdict, "sources": sources}
    answer |= _describe_undecided(ask, of, window, n_undecided)
    answer |= {"scope": ask.scope_json, "since": ask.since_json, "include_experiments": ask.include_experiments}
    answer["cluster_by"] = ask.cluster_by
    answer["warnings"], answer["suggested_since"] = _collect_warnings(answer["warnings"], window, rows)
    answer["warnings"] += [UNWEIGHTED] if is_unweighted(ask, window, n_undecided) else []
    return answer


def count_undecided(family: Family | None, history: HistorySnapshot | None, most: int | None) -> int:
    """Return how many scores the evaluator could not decide.

    Of a family that may be so, these are the scores without a verdict; of those made elsewhere, what was sent as such.
    """
    if history is None or (family is not None and not family.can_be_undecided):
        return 0
    facts = history.fact_bytes[: most and most * FACT_BYTES]
    return count_sent_undecided(facts) if family is None else count_unjudged(facts)


def can_be_undecided(family: Family | None, history: HistorySnapshot | None, most: int | None = None) -> bool:
    """Return whether scores without a verdict are undecided: of a family that may be so, or where some were sent so."""
    return family.can_be_undecided if family is not None else count_undecided(None, history, most) > 0


def _describe_undecided(ask: IntervalOptions, of: str, window: Window, n_undecided: int) -> dict[str, Any]:
    """Return the number of undecided scores, and between which rates the pass rate lies whatever they are."""
    bounds = bound_verdicts(ask, window, n_undecided) if n_undecided and of == "pass" else None
    return {"n_undecided": n_undecided, "pass_rate_bounds": bounds and [*bounds]}


def bound_verdicts(ask: IntervalOptions, window: Window, n_undecided: int) -> tuple[float, float] | None:
    """Return between which rates the pass rate of verdicts lies; None where less than a tenth are undecided.

    The undecided scores may have been drawn with another probability than the decided ones, so they are weighted even
    where those count alike.
    """
    if window.unjudged_probabilities is None or not ask.can_weigh:
        n_pass = int(window.values.sum())
        return bound_pass_rate(n_pass, int(window.values.size) - n_pass, n_undecided)
    # Relative to the highest, so that equal probabilities give the bounds of counts to the last digit.
    probabilities = np.concatenate([window.probabilities, window.unjudged_probabilities])
    weights = probabilities.max() / probabilities
    n = window.values.size
    passed, undecided, total = float(weights[:n] @ window.values), float(weights[n:].sum()), float(weights.sum())
    if undecided < MOST_SHARE * total:
        return None
    return passed / total, (passed + undecided) / total


def interval_values(history: HistorySnapshot | None, of: str, most: int | None, *, has_verdict: bool = True) -> Window:
    """Return the values that an interval is computed from, newest first.

    For `pass`, these are the verdicts as given at the time; scores without a verdict are left out.
    """
    if history is None or not history.score_bytes:
        return Window(_NO_SCORES, _NO_IDS, _NO_MARKS, _NO_IDS, _NO_IDS)
    ids = np.frombuffer(history.id_bytes, np.int64)[:most]
    if of == "pass" and not has_verdict:
        return Window(_NO_SCORES, _NO_IDS, _NO_MARKS, _NO_IDS, _NO_IDS, n_no_verdict=int(ids.size))
    alike = unpack_verdicts(history.fact_bytes[: most and most * FACT_BYTES]) if of == "pass" else None
    is_whole = alike is not None and alike.judged is None
    window = Window(
        alike.row if alike is not None and is_whole else history.scores[:most],
        ids,
        _NO_MARKS,
        np.frombuffer(history.hash_bytes, np.int64)[:most] if history.hash_bytes else ids,
        np.frombuffer(history.batch_bytes, np.int64)[:most] if history.batch_bytes else ids,
        np.frombuffer(history.cluster_bytes, np.int64)[:most] if history.cluster_bytes else None,
        verdicts=alike,
        chosen_among=history.chosen_among,
        probabilities=np.frombuffer(history.probability_bytes)[:most] if history.probability_bytes else None,
    )
    if alike is not None:
        return window if is_whole else window.select_judged(alike.judged, alike.row)
    facts = history.facts[:most]
    window = replace(window, marks=facts >> 2)
    if of != "pass":
        return window
    verdicts = facts & 3
    is_judged = (verdicts == 1) | (verdicts == 2)
    return window.select_judged(is_judged, verdicts[is_judged] - 1.0)


def find_weights(ask: IntervalOptions, window: Window) -> Any:
    """Return what each value counts, one over its probability; None where all count alike.

    A strategy that is asked for by its name is computed as the name says, and answered with a warning.
    """
    return 1.0 / window.probabilities if ask.can_weigh and window.has_unequal_probabilities else None


def is_unweighted(ask: IntervalOptions, window: Window, n_undecided: int = 0) -> bool:
    """Return whether scores that were drawn with unequal probabilities count alike: values, or undecided ones.

    The undecided ones count in the bounds of the pass rate, and in whether there are any.
    """
    if ask.can_weigh or window.probabilities is None or not window.values.size:
        return False
    unjudged = window.unjudged_probabilities
    has_others = bool(n_undecided) and unjudged is not None and bool((unjudged != window.probabilities[0]).any())
    return has_others or window.has_unequal_probabilities


def compute_mean(ask: IntervalOptions, window: Window) -> float | None:
    """Return the mean of a window's values, weighted where the interval is; None without any."""
    if not window.values.size:
        return None
    weights = find_weights(ask, window)
    return float(window.values.mean()) if weights is None else hajek_mean(window.values, weights)


def compute_interval(
    ask: IntervalOptions,
    of: str,
    family: Family | None,
    window: Window,
    *,
    has_verdict: bool = True,
    declared: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Return the interval of a window's values, or null numbers and the reason."""
    limits, binary = (family.value_range, family.binary) if family else (select_range(declared, window.values), None)
    if of == "pass":
        limits, binary = (0.0, 1.0), True
    elif binary and not np.isin(window.values, (0.0, 1.0)).all():
        # The scores of conversations whose turns were judged are means.
        binary = False
    clusters, weights, n_eff = _find_clusters(ask, window), find_weights(ask, window), None
    if weights is not None and ask.strategy == AUTO and (clusters is not None or limits is not None):
        interval, n_eff = weighted_interval(
            window.values, window.probabilities, ask.level, value_range=limits, binary=binary, clusters=clusters
        )
    elif clusters is not None:
        interval = batched_interval(window.values, clusters.tolist(), ask.level, value_range=limits)
    else:
        # Only resampling needs a seed, and making one reads the whole history.
        seed = zlib.crc32(window.values.tobytes()) if history_rule(ask.strategy).draws else 0
        try:
            interval = interval_for(
                ask.strategy, window.values, ask.level, value_range=limits, binary=binary, seed=seed
            )
        except StrategyNotApplicable as exc:
            hint = " Ask for it with `of`: `pass`." if of == "score" and has_verdict else ""
            return _build_null_interval(len(window.values), f"{exc}{hint}")
    numbers: dict[str, Any] = {name: getattr(interval, name) for name in FIELDS} | {"n_eff": n_eff}
    if interval.degenerate and limits is None:
        # Equal scores say nothing about those to come if any number may come.
        numbers |= {"lower": None, "upper": None, "method": None}
    numbers["advice"] = dataclasses.asdict(interval.advice) if interval.advice else None
    numbers["reason"] = interval.reason or _explain_missing(interval, window, is_clustered=clusters is not None)
    if interval.n == 0 and family is not None and window.n_no_verdict:
        numbers["reason"] = ALL_UNDECIDED if has_verdict and family.can_be_undecided else NO_THRESHOLD
    return numbers


def select_range(declared: tuple[float, float] | None, values: Any) -> tuple[float, float] | None:
    """Return the declared range if all values lie in it: earlier scores may have come without one."""
    if declared is None or not values.size:
        return declared
    low, high = declared
    return declared if low <= float(values.min()) and float(values.max()) <= high else None


def _find_clusters(ask: IntervalOptions, window: Window) -> Any:
    """Return what values are clustered by: the tag asked for, or their samples if many of them are repeats; else None.

    Only `auto` chooses a formula: any other strategy is computed as its name says, and answered with the warning.
    """
    if ask.cluster_by is not None and window.clusters is not None:
        return window.clusters
    return window.hashes if ask.strategy == AUTO and window.has_repeats else None


def _explain_missing(interval: HistoryInterval, window: Window, *, is_clustered: bool) -> str | None:
    if interval.n < 2:
        return explain_too_few(has_no_verdict=window.n_no_verdict > 0)
    if interval.degenerate and not interval.advice:
        return NO_RANGE
    if is_clustered and interval.lower is None:
        return "At least 2 clusters with different means are needed."
    return None


def explain_too_few(*, has_no_verdict: bool) -> str:
    """Return why fewer than two scores have no interval; `has_no_verdict`: others have none and were left out."""
    return f"At least 2 {'scores with a verdict' if has_no_verdict else 'captured scores'} are needed."


def count_rows(
    window: Window, sources: Mapping[str, Mapping[str, Any]], *, n_undecided: int, weighted: bool, n_eff: float | None
) -> IntervalRows:
    """Return which rows a window's interval is computed from; `n_undecided` of those without a value are undecided."""
    counts = {name: int(source["n"]) for name, source in sources.items() if source["n"]}
    return IntervalRows(
        n=int(window.values.size),
        n_distinct=window.n_distinct,
        n_missing=window.n_no_verdict - n_undecided,
        n_undecided=n_undecided,
        chosen_among=window.chosen_among if (window.chosen_among or 0) > 1 else None,
        sources=counts if len(counts) > 1 else {},
        weighted=weighted,
        n_eff=n_eff,
    )


def select_bounds(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ends of an interval and its method: of equal scores those that are advised."""
    if not numbers["degenerate"]:
        return {name: numbers[name] for name in ("lower", "upper", "method")}
    advice = numbers["advice"] or {}
    return {"lower": advice.get("lower"), "upper": advice.get("upper"), "method": advice.get("kind")}


def count_sources(window: Window, weights: Any = None) -> dict[str, dict[str, object]]:
    """Return how many of the values come from where, and the mean of each part, by weights where they are given."""
    sizes = None
    if weights is not None:
        marks = np.full(window.values.size, window.verdicts.source) if window.verdicts else window.marks & 3
        counts, sizes = np.bincount(marks, minlength=3).tolist(), np.bincount(marks, weights, 3).tolist()
        sums = np.bincount(marks, weights * window.values, 3).tolist()
    elif window.verdicts is not None:
        counts, sums = [0, 0, 0], [0.0, 0.0, 0.0]
        counts[window.verdicts.source] = window.values.size
        sums[window.verdicts.source] = float(window.verdicts.n_passed)
    else:
        counts = np.bincount(window.marks & 3, minlength=3).tolist()
        sums = np.bincount(window.marks & 3, window.values, 3).tolist()
    return {
        name: {"n": n, "rate": total / size if n else None}
        for name, n, total, size in zip(SOURCES, counts, sums, sizes or counts, strict=True)
    }


def _collect_warnings(
    warnings: tuple[str, ...], window: Window, rows: IntervalRows
) -> tuple[list[str], Mapping[str, int] | None]:
    """Add what is doubtful about the window: repeats, selection, parts that differ, and different revisions."""
    warning_codes, since = list(warnings), None
    if window.has_repeats:
        warning_codes.append("repeated_samples")
    if rows.chosen_among is not None:
        warning_codes.append("selected")
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
        "n_eff": None,
        "advice": None,
        "reason": reason,
    }
