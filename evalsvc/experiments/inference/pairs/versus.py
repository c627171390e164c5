"""By how much one config beats another, in the words and numbers that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.views import NO_CLUSTERED
from evalsvc.experiments.inference.estimates.figures import NO_RANGE
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.stats.basics.words import NEW_DATA, ONE_LOOK, THIS_SET, WATCHED
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.pairs.clustered import NO_PAIRS, ClusteredPairs, cluster_difference_interval
from evalsvc.stats.pairs.common import Common
from evalsvc.stats.pairs.comparison import new_data_difference
from evalsvc.stats.pairs.leader import ROUNDING
from evalsvc.stats.pairs.newpairs import NewEvidence
from evalsvc.stats.pairs.paired import Differences, pair_interval
from evalsvc.stats.pairs.simultaneous import n_comparisons, simultaneous_level, word_threshold
from evalsvc.stats.race.elimination import Pair, e_value

AFTER_THE_FACT = "after the fact: one look"


@dataclass(frozen=True, slots=True)
class ComparisonQuestion:
    """The parameters of a comparison: its metric, its confidence level, and the number of simultaneous comparisons."""

    metric: Metric
    n_examples: int
    level: float
    n_comparisons: int
    cluster_by: str | None = None

    @property
    def joint_level(self) -> float:
        """The level of each interval at which all of them are valid simultaneously."""
        return simultaneous_level(self.level, self.n_comparisons)

    @property
    def reach(self) -> float | None:
        """The largest difference there can be, on the scale on which configs are compared."""
        return 1.0 if self.metric.value_range is not None else None


def build_question(plan: ExperimentPlan, metric: Metric, n_configs: int, *, has_baseline: bool) -> ComparisonQuestion:
    """Return the question of an experiment with so many configs ever added."""
    together = n_comparisons(max(1, n_configs), has_baseline=has_baseline)
    return ComparisonQuestion(metric, plan.n_examples, plan.level, together, plan.cluster_by)


def find_baseline(plan: ExperimentPlan, configs: Sequence[Config]) -> Config | None:
    """Return the baseline, if there is a config of that name."""
    return next((config for config in configs if plan.baseline and config.name == plan.baseline), None)


def is_declared(plan: ExperimentPlan, baseline: Config | None) -> bool:
    """Return whether the baseline was declared before the start; one added later is a leader by another name."""
    return baseline is not None and baseline.fresh_from == 0 and baseline.arrival <= max(plan.n_original, 1)


def comparison_out(
    question: ComparisonQuestion, common: Common, *, fresh_from: int, clusters: ClusteredPairs | None = None
) -> dict[str, Any]:
    """Return a comparison, first minus second; positive when the first is better.

    The headline is the interval for new data, and the verdict comes from anytime-valid evidence on new data. The
    difference on this dataset is included. If the question names clusters, the interval is over clusters and the
    verdict is null, because the evidence treats each example as independent.
    """
    pairs = common.differences
    scale = _build_scale(question, common)
    joint = _interval(question, pairs, question.joint_level, clusters)
    alone = _interval(question, pairs, question.level, clusters)
    new_data = {
        "lower": _scaled(joint[0], scale.mean),
        "upper": _scaled(joint[1], scale.mean),
        "method": joint[2],
        "safe": ONE_LOOK,
    }
    view = {
        "n": pairs.n,
        **_n_clusters(question, clusters),
        "n_missing": common.n_missing,
        "delta": _scaled(_mean(pairs), scale.delta),
        "level": question.level,
        "joint_level": question.joint_level,
        "n_comparisons": question.n_comparisons,
        "label": AFTER_THE_FACT if fresh_from else ONE_LOOK,
        "this_set": _this_set(question, common, scale),
        **_words(question, common, fresh_from),
    }
    ends = {"lower_alone": _scaled(alone[0], scale.mean), "upper_alone": _scaled(alone[1], scale.mean)}
    if question.metric.kind.covers == THIS_SET:
        mean = {"delta": _scaled(_mean(pairs), scale.mean), "new_data": new_data, **ends}
        nothing: dict[str, Any] = dict.fromkeys(("lower", "upper", "lower_alone", "upper_alone", "new_data"))
        return view | nothing | {"mean": mean, "method": "none", "safe": None, "covers": THIS_SET}
    headline = {name: new_data[name] for name in ("lower", "upper", "method", "safe")}
    return view | headline | ends | {"mean": None, "new_data": new_data, "covers": NEW_DATA}


@dataclass(frozen=True, slots=True)
class _Scale:
    """How much one step is: of the mean of a score, of the number that is shown, and of the whole set."""

    mean: float
    delta: float
    whole: float


def _build_scale(question: ComparisonQuestion, common: Common) -> _Scale:
    metric, applicable = question.metric, question.n_examples - _n_na(common)
    return _Scale(metric.unit(1), metric.unit(applicable - common.n_missing), metric.unit(applicable))


def _n_na(common: Common) -> int:
    return common.upto - common.n - common.n_missing


def _mean(pairs: Differences) -> float | None:
    if not pairs.n:
        return None
    return 0.0 if abs(pairs.total) <= ROUNDING * pairs.n else pairs.mean


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _n_clusters(question: ComparisonQuestion, clusters: ClusteredPairs | None) -> dict[str, int | None]:
    return {} if question.cluster_by is None else {"n_clusters": clusters.sums.groups if clusters else None}


def _interval(
    question: ComparisonQuestion, pairs: Differences, level: float, clusters: ClusteredPairs | None
) -> tuple[float | None, float | None, str]:
    """Return the interval for new data, on the scale on which configs are compared."""
    if question.cluster_by is not None:
        over = cluster_difference_interval(clusters or NO_PAIRS, level=level, reach=question.reach)
        return over.lower, over.upper, over.method
    difference = new_data_difference(pairs, level=level, binary=question.metric.binary, reach=question.reach)
    return difference.lower, difference.upper, difference.method


def _this_set(question: ComparisonQuestion, common: Common, scale: _Scale) -> dict[str, Any]:
    """Return the interval for this set; a missing half may have been anything, so it widens what is known."""
    applicable = question.n_examples - _n_na(common)
    scorable = applicable - common.n_missing
    interval = pair_interval(
        common.differences,
        population=scorable,
        level=question.joint_level,
        use_fpc=True,
        binary=question.metric.binary,
        reach=question.reach,
    )
    ends: Ends | None = None if interval.lower is None or interval.upper is None else (interval.lower, interval.upper)
    method, is_exact = interval.method, common.n >= applicable
    if ends is not None and common.n_missing:
        ends = _widen_for_missing(question, common, ends, scorable, applicable)
        method = f"{method}, failures worst and best"
    lower, upper = (end * scale.whole for end in ends) if ends is not None else (None, None)
    if is_exact and common.n:
        lower = upper = _scaled(_mean(common.differences), scale.delta)
    return {"lower": lower, "upper": upper, "method": method if ends else "none", "exact": is_exact}


def _widen_for_missing(
    question: ComparisonQuestion, common: Common, ends: Ends, scorable: int, applicable: int
) -> Ends | None:
    if question.metric.value_range is None:
        return None
    low = (ends[0] * scorable + common.missing_low) / applicable
    high = (ends[1] * scorable + common.missing_high) / applicable
    return low, high


def _words(question: ComparisonQuestion, common: Common, fresh_from: int) -> dict[str, Any]:
    """Return the verdict on new data from anytime-valid evidence, and how many more examples would settle it.

    Without a declared range such evidence does not exist, so the verdict is null: "inconclusive" would be a finding.
    """
    if not common.log_better or question.cluster_by is not None:
        nothing: dict[str, Any] = dict.fromkeys(("word", "rests_on", "about_n_more"))
        reason = NO_RANGE if question.cluster_by is None else NO_CLUSTERED
        return nothing | {"reason": reason, "can_be_settled": False}
    n_fresh = max(0, common.upto - fresh_from)
    evidence = NewEvidence(n_fresh, common.log_better, common.log_worse)
    threshold = word_threshold(question.level, question.n_comparisons)
    rests_on: dict[str, Any] = {
        "e_value_better": evidence.better,
        "e_value_worse": evidence.worse,
        "threshold": threshold,
    }
    rests_on |= {"n_fresh": n_fresh, "covers": NEW_DATA, "safe": WATCHED}
    about = evidence.more_for_a_word(threshold)
    is_enough = about is not None and about <= question.n_examples - common.upto
    return {
        "word": evidence.word(threshold),
        "reason": None,
        "rests_on": rests_on,
        "about_n_more": about,
        "can_be_settled": is_enough,
    }


def evidence_out(pairs: Mapping[tuple[int, int], Pair], config: int, other: int) -> dict[str, object] | None:
    """Return what decides stops: evidence on these N, over examples that neither designer can have seen."""
    pair, opposite = pairs.get((config, other)), pairs.get((other, config))
    if pair is None:
        return None
    worse = e_value(opposite) if opposite is not None else None
    return {"e_value": e_value(pair), "e_value_worse": worse, "n_fresh": pair.n, "covers": THIS_SET}
