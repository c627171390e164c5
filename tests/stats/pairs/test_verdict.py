"""The verdict on two configs: it agrees with its interval, mirrors, and is not helped by further comparisons."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsvc.stats.pairs.clustered import NO_PAIRS, ClusteredPairs, sum_by_cluster
from evalsvc.stats.pairs.common import NOTHING, Common, advanced
from evalsvc.stats.pairs.newpairs import BETTER, INCONCLUSIVE, WORSE, NewEvidence, evidence_of_counts
from evalsvc.stats.pairs.verdict import (
    MONITORING,
    PLANNED_END,
    POST_HOC,
    Analysis,
    Verdict,
    decide_verdict,
    monitored_bound,
)

MIRRORED = {BETTER: WORSE, WORSE: BETTER, INCONCLUSIVE: INCONCLUSIVE}


@dataclass(frozen=True)
class Case:
    """All that a verdict is decided from."""

    common: Common
    analysis: Analysis
    binary: bool
    reach: float | None
    evidence: NewEvidence | None
    clusters: ClusteredPairs | None

    def decide(self) -> Verdict:
        return decide_verdict(
            self.common,
            self.analysis,
            binary=self.binary,
            reach=self.reach,
            evidence=self.evidence,
            clusters=self.clusters,
        )

    def swap(self) -> Case:
        clusters = self.clusters
        if clusters is not None:
            sums = replace(clusters.sums, total=-clusters.sums.total, cross=-clusters.sums.cross)
            clusters = ClusteredPairs(sums, clusters.n_down, clusters.n_up)
        evidence = self.evidence.swapped if self.evidence is not None else None
        return replace(self, common=self.common.swap(), evidence=evidence, clusters=clusters)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw pairs of binary, bounded or unbounded scores with missing halves, and when they are analysed."""
    kind = draw(st.sampled_from(["binary", "bounded", "unbounded"]))
    n, seed = draw(st.integers(0, 300)), draw(st.integers(0, 2**32 - 1))
    shift, missing = draw(st.sampled_from([-0.4, -0.1, 0.0, 0.05, 0.2, 0.6])), draw(st.sampled_from([0.0, 0.02, 0.3]))
    rng = np.random.default_rng(seed)
    base = rng.random((2, n)) * draw(st.sampled_from([0.3, 1.0])) + np.array([[max(shift, 0.0)], [max(-shift, 0.0)]])
    scores = np.clip(base, 0.0, 1.0)
    if kind == "binary":
        scores = (scores > 0.5).astype(np.float64)
    elif kind == "unbounded":
        scores = scores * draw(st.sampled_from([0.001, 1.0, 500.0]))
    scores[rng.random((2, n)) < missing] = np.nan
    fresh_from = draw(st.sampled_from([0, n // 2, n]))
    fortune = NOTHING if kind != "unbounded" else ()
    common = Common(1, 2, log_better=fortune, log_worse=fortune)
    if n:
        (common,) = advanced([common], [(scores[0], scores[1])], [fresh_from])
    is_monitored = draw(st.booleans())
    basis = draw(st.sampled_from([MONITORING, PLANNED_END, POST_HOC]))
    level = draw(st.sampled_from([0.5, 0.9, 0.95, 0.99]))
    analysis = Analysis(basis, level, draw(st.sampled_from([1, 3, 120, 2280])), is_monitored)
    clusters = evidence = None
    if draw(st.integers(0, 3)) == 0:
        rows = scores[0] - scores[1]
        scored = rows[~np.isnan(rows)]
        size = draw(st.integers(1, 6))
        clusters = sum_by_cluster(scored, np.arange(scored.size) // size) if scored.size else NO_PAIRS
    elif fortune and is_monitored:
        evidence = NewEvidence(n - fresh_from, common.log_better, common.log_worse)
    return Case(common, analysis, kind == "binary", None if kind == "unbounded" else 1.0, evidence, clusters)


def of_counts(basis: str, n: int, plus: int, minus: int, *, n_comparisons: int = 1) -> Case:
    """Return the case of n pairs of scores that are 0 or 1."""
    common = Common(1, 2, n, n, float(plus - minus), float(plus + minus), plus, minus)
    return Case(common, Analysis(basis, 0.95, n_comparisons), True, 1.0, evidence_of_counts(n, plus, minus), None)


@given(cases())
@example(of_counts(MONITORING, 200, 60, 5))
@example(of_counts(PLANNED_END, 200, 40, 18))
def test_the_word_and_the_interval_agree(case: Case) -> None:
    found = case.decide()
    if found.lower is None or found.upper is None:
        assert found.word == INCONCLUSIVE
        return
    assert found.lower <= found.upper
    assert (found.word == BETTER) == (found.lower > 0.0)
    assert (found.word == WORSE) == (found.upper < 0.0)
    assert (found.word == INCONCLUSIVE) == (found.lower <= 0.0 <= found.upper)


@given(cases())
@example(of_counts(MONITORING, 200, 60, 5))
def test_swapping_the_configs_mirrors_the_verdict(case: Case) -> None:
    found, mirrored = case.decide(), case.swap().decide()

    assert mirrored.word == MIRRORED[found.word]
    if found.lower is None or found.upper is None:
        assert (mirrored.lower, mirrored.upper) == (None, None)
    else:
        assert (mirrored.lower, mirrored.upper) == (pytest.approx(-found.upper), pytest.approx(-found.lower))


@given(cases(), st.integers(1, 20))
def test_further_comparisons_never_turn_inconclusive_into_a_verdict(case: Case, more: int) -> None:
    n_comparisons = case.analysis.n_comparisons + more
    with_more = replace(case, analysis=replace(case.analysis, n_comparisons=n_comparisons)).decide()

    assert with_more.word in (case.decide().word, INCONCLUSIVE)


@given(cases())
def test_before_the_planned_end_there_are_only_verdicts_of_the_e_values(case: Case) -> None:
    analysis = replace(case.analysis, basis=MONITORING)
    without = replace(case, analysis=analysis, evidence=None)

    assert without.decide().word == INCONCLUSIVE


@pytest.mark.parametrize(
    ("basis", "plus", "minus", "word"),
    [
        (MONITORING, 40, 18, INCONCLUSIVE),
        (PLANNED_END, 40, 18, BETTER),
        (PLANNED_END, 18, 40, WORSE),
        (POST_HOC, 40, 18, BETTER),
        (PLANNED_END, 5, 0, INCONCLUSIVE),
        (PLANNED_END, 30, 28, INCONCLUSIVE),
        (MONITORING, 80, 5, BETTER),
    ],
)
def test_two_hundred_pairs(basis: str, plus: int, minus: int, word: str) -> None:
    assert of_counts(basis, 200, plus, minus).decide().word == word


def test_the_error_of_monitoring_and_of_the_end_add_up() -> None:
    monitored, alone = Analysis(PLANNED_END, 0.95, 1), Analysis(POST_HOC, 0.95, 1, is_monitored=False)

    assert monitored.threshold == pytest.approx(2 / 0.005)
    assert 1 - monitored.fixed_sample_level == pytest.approx(0.045)
    assert (alone.threshold, alone.fixed_sample_level) == (None, pytest.approx(0.95))


def test_much_missing_needs_a_difference_whatever_the_missing_scores_are() -> None:
    seen = of_counts(PLANNED_END, 200, 40, 18)
    few, many = (
        replace(seen, common=replace(seen.common, n_missing=n, missing_low=-float(n), missing_high=float(n)))
        for n in (5, 60)
    )

    assert few.decide() == seen.decide()
    assert few.decide().word == BETTER
    assert many.decide().word == INCONCLUSIVE


@given(st.integers(20, 300), st.floats(0.0, 0.4), st.sampled_from([40.0, 400.0, 48000.0]))
def test_the_bound_of_monitoring_is_between_zero_and_the_difference(plus: int, share: float, threshold: float) -> None:
    minus = round(share * plus)
    found = evidence_of_counts(plus + minus, plus, minus)
    bound = monitored_bound(found.log_better, plus + minus, threshold)

    assert found.better < threshold or 0.0 < bound < (plus - minus) / (plus + minus)
