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
from evalsvc.stats.pairs.clustered import NO_PAIRS, ClusteredPairs
from evalsvc.stats.pairs.common import Common
from evalsvc.stats.pairs.comparison import more_pairs_for_verdict
from evalsvc.stats.pairs.leader import ROUNDING
from evalsvc.stats.pairs.newpairs import INCONCLUSIVE, NewEvidence
from evalsvc.stats.pairs.paired import Differences, pair_interval
from evalsvc.stats.pairs.simultaneous import n_comparisons
from evalsvc.stats.pairs.verdict import (
    MONITORING,
    PLANNED_END,
    POST_HOC,
    Analysis,
    Verdict,
    decide_verdict,
    is_much_missing,
)
from evalsvc.stats.race.elimination import Pair, e_value

MUCH_MISSING = "much_missing"


@dataclass(frozen=True, slots=True)
class ComparisonQuestion:
    """The parameters of a comparison.

    `n_comparisons` are made simultaneously; `select_end` is the position at which both configs have finished what was
    planned, None where runs are compared that were not planned together, and that both have ended.
    """

    metric: Metric
    n_examples: int
    level: float
    n_comparisons: int
    cluster_by: str | None = None
    select_end: int | None = None
    is_one_run: bool = True

    def analyse(self, upto: int, fresh_from: int) -> Analysis:
        """Return the analysis of pairs up to a position, of which the designers may have seen those before another."""
        if self.select_end is not None and upto < self.select_end:
            basis = MONITORING
        else:
            basis = POST_HOC if fresh_from or not self.is_one_run else PLANNED_END
        return Analysis(basis, self.level, self.n_comparisons, is_monitored=self.is_one_run)

    @property
    def reach(self) -> float | None:
        """The largest difference there can be, on the scale on which configs are compared."""
        return 1.0 if self.metric.value_range is not None else None


def build_question(
    plan: ExperimentPlan, metric: Metric, n_configs: int, *, is_with_baseline: bool = False
) -> ComparisonQuestion:
    """Return the question about two configs of an experiment with so many configs ever added.

    `is_with_baseline`: one of the two is the declared baseline, with which alone the others are compared.
    """
    together = n_comparisons(max(1, n_configs), has_baseline=is_with_baseline) * count_metrics_together(plan, metric)
    return ComparisonQuestion(metric, plan.n_examples, plan.level, together, plan.cluster_by, plan.run_length)


def count_metrics_together(plan: ExperimentPlan, metric: Metric) -> int:
    """Return by how many metrics a metric's error is divided: one for the primary metric.

    The others share half of the error between them: all wrong verdicts of a plan together then keep to it in practice.
    """
    if metric.name == plan.primary_metric:
        return 1
    metrics = (Metric.from_json(row) for row in plan.metrics)
    secondary = [other for other in metrics if other.name != plan.primary_metric and not other.kind.why_not_pairable]
    return max(1, 2 * len(secondary))


def find_baseline(plan: ExperimentPlan, configs: Sequence[Config]) -> Config | None:
    """Return the baseline, if there is a config of that name."""
    return next((config for config in configs if plan.baseline and config.name == plan.baseline), None)


def is_declared(plan: ExperimentPlan, baseline: Config | None) -> bool:
    """Return whether the baseline was declared before the start; one added later is a leader by another name."""
    return baseline is not None and baseline.fresh_from == 0 and baseline.arrival <= max(plan.n_original, 1)


def is_declared_baseline(plan: ExperimentPlan, *configs: Config) -> bool:
    """Return whether one of two configs is the declared baseline."""
    baseline = find_baseline(plan, configs)
    return is_declared(plan, baseline)


def comparison_out(
    question: ComparisonQuestion, common: Common, *, fresh_from: int, clusters: ClusteredPairs | None = None
) -> dict[str, Any]:
    """Return a comparison, first minus second; positive when the first is better.

    The verdict and the interval of the headline, for new data, are those of `decide_verdict`. The difference on this
    dataset is included.
    """
    pairs = common.differences
    scale = _build_scale(question, common)
    analysis = question.analyse(common.upto, fresh_from)
    evidence = _evidence(question, common, fresh_from)
    grouped = (clusters or NO_PAIRS) if question.cluster_by is not None else None
    verdict = decide_verdict(
        common,
        analysis,
        binary=question.metric.binary,
        reach=question.reach,
        evidence=evidence,
        clusters=grouped,
    )
    new_data = {
        "lower": _scaled(verdict.lower, scale.mean),
        "upper": _scaled(verdict.upper, scale.mean),
        "method": verdict.method,
        "safe": ONE_LOOK,
    }
    view = {
        "n": pairs.n,
        **_n_clusters(question, clusters),
        "n_missing": common.n_missing,
        "delta": _scaled(_mean(pairs), scale.delta),
        "level": question.level,
        "joint_level": analysis.fixed_sample_level,
        "n_comparisons": question.n_comparisons,
        "label": analysis.basis,
        "this_set": _this_set(question, common, scale, analysis.fixed_sample_level),
        "word": verdict.word,
        "reason": _why_undecided(question, analysis, verdict, common),
        **_outlook(question, common, analysis, evidence, verdict),
    }
    if question.metric.kind.covers == THIS_SET:
        mean = {"delta": _scaled(_mean(pairs), scale.mean), "new_data": new_data}
        nothing: dict[str, Any] = dict.fromkeys(("lower", "upper", "new_data"))
        return view | nothing | {"mean": mean, "method": "none", "safe": None, "covers": THIS_SET}
    headline = {name: new_data[name] for name in ("lower", "upper", "method", "safe")}
    return view | headline | {"mean": None, "new_data": new_data, "covers": NEW_DATA}


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


def _this_set(question: ComparisonQuestion, common: Common, scale: _Scale, level: float) -> dict[str, Any]:
    """Return the interval for this set, widened by what missing scores and lost trials may have been."""
    applicable = question.n_examples - _n_na(common)
    scorable = applicable - common.n_missing
    interval = pair_interval(
        common.differences,
        population=scorable,
        level=level,
        use_fpc=True,
        binary=question.metric.binary,
        reach=question.reach,
    )
    ends: Ends | None = None if interval.lower is None or interval.upper is None else (interval.lower, interval.upper)
    method, is_exact = interval.method, common.n >= applicable and not common.n_lost
    if ends is not None and (common.n_missing or common.n_lost):
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
    low = (ends[0] * scorable + common.lost_low + common.missing_low) / applicable
    high = (ends[1] * scorable + common.lost_high + common.missing_high) / applicable
    return low, high


def _evidence(question: ComparisonQuestion, common: Common, fresh_from: int) -> NewEvidence | None:
    """Return the e-values of the pairs that no designer has seen; None where they cannot be monitored."""
    if not question.is_one_run or not common.log_better or question.cluster_by is not None:
        return None
    return NewEvidence(max(0, common.upto - fresh_from), common.log_better, common.log_worse)


def _why_undecided(question: ComparisonQuestion, analysis: Analysis, verdict: Verdict, common: Common) -> str | None:
    """Return why no verdict is possible, or not before the planned end, if that is so."""
    if question.reach is None:
        return NO_RANGE
    if verdict.word == INCONCLUSIVE and is_much_missing(common):
        return MUCH_MISSING
    if analysis.basis != MONITORING or verdict.word != INCONCLUSIVE:
        return None
    return NO_CLUSTERED if question.cluster_by is not None else None


def _outlook(
    question: ComparisonQuestion,
    common: Common,
    analysis: Analysis,
    evidence: NewEvidence | None,
    verdict: Verdict,
) -> dict[str, Any]:
    """Return the e-values, and how many more examples would give a verdict if the differences go on as before."""
    threshold, rests_on = analysis.threshold, None
    if evidence is not None and threshold is not None:
        rests_on = {
            "e_value_better": evidence.better,
            "e_value_worse": evidence.worse,
            "threshold": threshold,
            "n_fresh": evidence.n,
            "covers": NEW_DATA,
            "safe": WATCHED,
        }
    n_left = max(0, (question.select_end or 0) - common.upto)
    about = 0 if verdict.word != INCONCLUSIVE else None
    is_foreseeable = question.cluster_by is None and question.reach is not None and not is_much_missing(common)
    if about is None and is_foreseeable:
        monitored = evidence.more_for_a_word(threshold) if evidence is not None and threshold is not None else None
        fixed = more_pairs_for_verdict(
            common.differences,
            level=analysis.fixed_sample_level,
            binary=question.metric.binary,
            reach=question.reach,
        )
        # The fixed-sample analysis comes at the planned end and no earlier.
        numbers = [monitored, None if fixed is None else max(fixed, n_left)]
        about = min((number for number in numbers if number is not None), default=None)
    is_enough = about is not None and about <= n_left
    return {"rests_on": rests_on, "about_n_more": about, "can_be_settled": is_enough}


def evidence_out(pairs: Mapping[tuple[int, int], Pair], config: int, other: int) -> dict[str, object] | None:
    """Return what decides stops: evidence on these N, over examples that neither designer can have seen."""
    pair, opposite = pairs.get((config, other)), pairs.get((other, config))
    if pair is None:
        return None
    worse = e_value(opposite) if opposite is not None else None
    return {"e_value": e_value(pair), "e_value_worse": worse, "n_fresh": pair.n, "covers": THIS_SET}
