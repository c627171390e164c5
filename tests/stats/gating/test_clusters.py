"""Gates over clusters: how often they err where the truth lies on the limit, and what equal and few clusters come to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evalsvc.stats.gating.claims import GateClaim, pair_claim, quantile_claim, threshold_claim
from evalsvc.stats.gating.decisions import judge_all
from evalsvc.stats.gating.ends import compute_bounds, is_shown
from evalsvc.stats.gating.power import examples_needed, mirrored
from evalsvc.stats.gating.quantiles import quantile_ends
from tests.stats.reference import Row

GROUPS, SIZE = 30, 10
CLUSTERS = np.repeat(np.arange(GROUPS), SIZE)


def shares(rng: np.random.Generator, truth: float) -> Row:
    """Answers whose shares differ from document to document, with an intraclass correlation of 0.3."""
    odds = (1.0 - 0.3) / 0.3
    each = rng.beta(truth * odds, (1.0 - truth) * odds, GROUPS)[CLUSTERS]
    row: Row = (rng.random(CLUSTERS.size) < each).astype(float)
    return row


def over(claim: GateClaim) -> GateClaim:
    return replace(claim, clusters=CLUSTERS)


def test_errors_at_one_look_with_the_truth_on_the_limit() -> None:
    rng, repeats = np.random.default_rng(21), 400
    wrong = dict.fromkeys(("pass", "fail", "plain", "paired"), 0)
    for _ in range(repeats):
        claim = threshold_claim(shares(rng, 0.8), at_least=0.8, value_range=None, binary=True)
        wrong["plain"] += is_shown(claim, 0.05, watched=False)
        wrong["pass"] += is_shown(over(claim), 0.05, watched=False)
        wrong["fail"] += is_shown(mirrored(over(claim)), 0.05, watched=False)
        pair = pair_claim(shares(rng, 0.7), shares(rng, 0.8), limit=-0.1, value_range=(0.0, 1.0))
        wrong["paired"] += is_shown(over(pair), 0.05, watched=False)

    assert wrong["plain"] / repeats > 0.15
    for name in ("pass", "fail", "paired"):
        assert wrong[name] / repeats <= 0.06, name


def test_clusters_of_one_are_examples() -> None:
    row = np.random.default_rng(3).random(80)
    claim = threshold_claim(row, at_least=0.4, value_range=(0.0, 1.0))
    plain = compute_bounds(claim, 0.05, watched=False)
    apart = compute_bounds(replace(claim, clusters=np.arange(80)), 0.05, watched=False)

    assert (apart.lower, apart.upper) == pytest.approx((plain.lower, plain.upper), abs=0.002)
    assert (plain.method, apart.method) == ("guarded-t", "guarded-t over clusters")


def test_whole_clusters_that_agree_count_once() -> None:
    row = np.random.default_rng(4).random(GROUPS)
    once = compute_bounds(
        replace(threshold_claim(row, at_least=0.4, value_range=(0.0, 1.0)), clusters=np.arange(GROUPS)),
        0.05,
        watched=False,
    )
    often = compute_bounds(
        over(threshold_claim(row.repeat(SIZE), at_least=0.4, value_range=(0.0, 1.0))), 0.05, watched=False
    )

    assert (often.lower, often.upper) == pytest.approx((once.lower, once.upper))


def test_equal_scores_still_leave_room_for_a_cluster_unlike_them() -> None:
    claim = threshold_claim(np.ones(GROUPS * SIZE), at_least=0.8, value_range=None, binary=True)
    plain, found = (compute_bounds(one, 0.05, watched=False) for one in (claim, over(claim)))

    assert plain.lower is not None
    assert found.lower is not None
    assert found.lower < 0.905 < 0.98 < plain.lower
    assert found.upper == 1.0


def test_one_cluster_shows_nothing() -> None:
    claim = threshold_claim([1.0, 1.0, 0.0], at_least=0.1, value_range=None, binary=True)
    (judged,) = judge_all([replace(claim, clusters=np.zeros(3, dtype=np.int_))], 0.05, watched=False)

    assert (judged.outcome, judged.reason, judged.ends.lower, judged.ends.upper) == (
        "undecided",
        "one_cluster",
        0.0,
        1.0,
    )


def test_it_needs_more_examples_than_single_ones_would() -> None:
    claim = threshold_claim(shares(np.random.default_rng(8), 0.85), at_least=0.8, value_range=None, binary=True)
    alone, together = (examples_needed(one, 0.05, watched=False) for one in (claim, over(claim)))

    assert alone is not None
    assert together is not None
    assert together > 2 * alone


def test_a_quantile_is_a_share_of_clusters() -> None:
    rng = np.random.default_rng(5)
    row = 100.0 + 50.0 * rng.random(GROUPS)[CLUSTERS] + rng.random(CLUSTERS.size)
    plain = quantile_ends(row, 0.5, 0.05, watched=False)
    found = quantile_ends(row, 0.5, 0.05, watched=False, clusters=CLUSTERS)
    claim = replace(quantile_claim(row, 0.5, at_most=200.0), clusters=CLUSTERS)

    assert found[0] is not None
    assert found[1] is not None
    assert plain[0] is not None
    assert plain[1] is not None
    assert found[0] < plain[0] < plain[1] < found[1]
    assert is_shown(claim, 0.05, watched=False)
