"""Words about new data: evidence that is right however often one looks, and simultaneous over all comparisons."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from evalsvc.stats.pairs.newpairs import NewEvidence, advance_new, advance_new_all, evidence_of_counts
from evalsvc.stats.pairs.simultaneous import n_comparisons, simultaneous_level, word_threshold

STAKES = (0.02, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8)


def test_it_is_the_mean_fortune_of_eight_gamblers() -> None:
    rows = np.random.default_rng(1).uniform(-1, 1, 30)
    better = np.mean([np.prod([1 + stake * d for d in rows]) for stake in STAKES])
    worse = np.mean([np.prod([1 - stake * d for d in rows]) for stake in STAKES])

    found = advance_new(NewEvidence(), rows)

    assert (found.better, found.worse, found.n) == (pytest.approx(better), pytest.approx(worse), 30)
    assert found.swapped.better == found.worse


def test_portions_and_order_make_no_difference() -> None:
    rng = np.random.default_rng(2)
    rows = rng.uniform(-1, 1, 50)
    whole = advance_new(NewEvidence(), rows)

    in_parts = advance_new(advance_new(NewEvidence(), rows[:7]), rows[7:])
    shuffled = advance_new(NewEvidence(), rng.permutation(rows))

    assert in_parts.better == pytest.approx(whole.better)
    assert shuffled.worse == pytest.approx(whole.worse)


def test_many_pairs_at_once_are_each_their_own() -> None:
    rng = np.random.default_rng(3)
    rows = [rng.uniform(-1, 1, size) for size in (5, 0, 12)]

    together = advance_new_all([NewEvidence()] * 3, rows)

    for found, row in zip(together, rows, strict=True):
        alone = advance_new(NewEvidence(), row)
        assert (found.n, found.better) == (alone.n, pytest.approx(alone.better))
    assert advance_new_all([], []) == []


def test_counts_are_enough_for_binary_scores() -> None:
    rows = np.random.default_rng(4).choice([1.0, 0.0, -1.0], size=200, p=[0.2, 0.7, 0.1])
    counted = evidence_of_counts(200, int((rows > 0).sum()), int((rows < 0).sum()))

    assert counted.log_better == pytest.approx(advance_new(NewEvidence(), rows).log_better)
    assert counted.log_worse == pytest.approx(advance_new(NewEvidence(), rows).log_worse)


@pytest.mark.parametrize("apart", [1, 2, 5])
def test_a_few_of_four_hundred_apart_are_inconclusive(apart: int) -> None:
    threshold = word_threshold(0.95, n_comparisons(2))

    for n, plus in itertools.product((apart, 50, 400), (apart, apart - 1)):
        assert evidence_of_counts(max(n, apart), plus, apart - plus).word(threshold) == "inconclusive"


def test_many_apart_are_better_or_worse() -> None:
    threshold = word_threshold(0.95, n_comparisons(2))

    assert evidence_of_counts(400, 60, 20).word(threshold) == "better"
    assert evidence_of_counts(400, 20, 60).word(threshold) == "worse"


@pytest.mark.parametrize(("n", "plus", "minus"), [(60, 1, 0), (60, 1, 2), (400, 5, 0), (7, 0, 1), (3, 2, 0)])
def test_as_many_more_as_it_says_let_a_word_be_said(n: int, plus: int, minus: int) -> None:
    found, threshold = evidence_of_counts(n, plus, minus), word_threshold(0.95, n_comparisons(4))
    more = found.more_for_a_word(threshold)

    assert more is not None

    def after(n_more: int) -> NewEvidence:
        """The differences go on in proportion."""
        factor = (n + n_more) / n
        grown = [tuple(factor * log for log in logs) for logs in (found.log_better, found.log_worse)]
        return NewEvidence(n + n_more, *grown)

    assert after(more).word(threshold) == ("better" if plus > minus else "worse")
    assert after(more - 1).word(threshold) == "inconclusive"
    assert found.swapped.more_for_a_word(threshold) == more


def test_what_is_said_needs_no_more_and_what_is_even_says_nothing() -> None:
    assert evidence_of_counts(60, 20, 0).more_for_a_word(40.0) == 0
    assert evidence_of_counts(60, 5, 5).more_for_a_word(40.0) is None
    assert evidence_of_counts(60, 0, 0).more_for_a_word(40.0) is None
    assert NewEvidence().more_for_a_word(40.0) is None


@pytest.mark.parametrize("share", [0.02, 0.2, 1.0])
def test_watched_after_every_example_it_is_wrong_less_often_than_it_says(share: float) -> None:
    rng = np.random.default_rng(5)
    rows = np.where(rng.random((2000, 400)) < share, rng.choice([1.0, -1.0], size=(2000, 400)), 0.0)
    fortunes = np.mean([np.exp(np.cumsum(np.log1p(stake * rows), axis=1)) for stake in STAKES], axis=0)

    assert (fortunes.max(axis=1) >= 20.0).mean() <= 0.05


def test_sixteen_equal_configs_are_seldom_called_better() -> None:
    rng = np.random.default_rng(6)
    alone, together, races = word_threshold(0.95, 1), word_threshold(0.95, n_comparisons(16)), 60
    wrong_alone = wrong_together = 0
    for _ in range(races):
        scores = rng.random((16, 400)) < 0.7
        strongest = 0.0
        for first, second in itertools.combinations(scores, 2):
            plus, minus = int((first & ~second).sum()), int((second & ~first).sum())
            found = evidence_of_counts(400, plus, minus)
            strongest = max(strongest, found.better, found.worse)
        wrong_alone += strongest >= alone
        wrong_together += strongest >= together

    assert wrong_together / races <= 0.05
    assert wrong_alone > wrong_together


def test_it_refuses_what_are_no_differences() -> None:
    for wrong in ([1.5], [float("nan")], [-2.0]):
        with pytest.raises(ValueError, match="between -1 and 1"):
            advance_new(NewEvidence(), wrong)
    with pytest.raises(ValueError, match="`n` must be at least"):
        evidence_of_counts(3, 2, 2)


def test_the_error_is_shared_by_all_pairs_or_by_the_rivals_of_a_baseline() -> None:
    assert (n_comparisons(16), n_comparisons(16, has_baseline=True)) == (120, 15)
    assert (n_comparisons(1), n_comparisons(1, has_baseline=True)) == (1, 1)
    assert simultaneous_level(0.95, 120) == pytest.approx(1 - 0.05 / 120)
    for refuse in (lambda: n_comparisons(0), lambda: simultaneous_level(0.95, 0), lambda: word_threshold(0.95, 0)):
        with pytest.raises(ValueError, match="must be at least 1"):
            refuse()
