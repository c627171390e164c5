"""The interval of a history: which method answers, when it warns, what it refuses."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from evalsvc.stats import Advice, clopper_pearson, history_interval
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.histories.percentile import width_factor
from tests.stats.reference import Row, fine_grid, standard_error
from tests.stats.samples import continuous, ends, sparse, two_humps

# Which method answers


@pytest.mark.parametrize(
    ("scores", "method"),
    [
        ([], None),
        ([0.7], None),
        ([0.7, 0.7], "degenerate"),
        ([0.0, 1.0], "exact-binomial"),
        ([0.2, 0.2, 0.9], "exact-binomial"),
        ([0.1, 0.25, 0.9], "exact-enumeration"),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0], "exact-enumeration"),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 2.0], "exact-lattice"),
        (continuous(7), "exact-enumeration"),
        (continuous(8), "fft"),
        (two_humps(19), "fft"),
        (two_humps(20), "saddlepoint"),
        (continuous(20), "fft"),
        (continuous(1000), "saddlepoint"),
        (sparse(1000, 5), "fft"),
    ],
)
def test_it_chooses_the_method(scores: list[float] | Row, method: str | None) -> None:
    interval = history_interval(scores)

    assert interval.method == method
    assert interval.n == len(scores)


def test_it_leaves_the_lattice_beyond_64_values() -> None:
    on_64 = np.repeat(np.arange(64.0), 3)
    on_65 = np.repeat(np.arange(65.0), 3)

    assert history_interval(on_64).method == "exact-lattice"
    assert history_interval(on_65).method != "exact-lattice"
    assert np.allclose(ends(history_interval(on_65)), fine_grid(on_65, 64 * 256 + 1), atol=0.01 * standard_error(on_65))


def test_it_leaves_the_lattice_beyond_512_cells() -> None:
    inside = np.array([0.0, 1.0, 512.0] * 4)
    outside = np.array([0.0, 1.0, 513.0] * 4)

    assert history_interval(inside).method == "exact-lattice"
    assert history_interval(outside).method == "fft"


def test_it_does_not_follow_a_wide_lattice_for_long() -> None:
    values = np.random.default_rng(3).permutation(513)[:60]
    scores = np.random.default_rng(4).choice([0, 512, 1, *values], size=1000).astype(float)

    interval = history_interval(scores)

    assert interval.method == "saddlepoint"
    assert np.allclose(ends(interval), fine_grid(scores, 512 * 8 + 1), atol=0.01 * standard_error(scores))


def test_it_gives_no_numbers_for_fewer_than_two() -> None:
    for scores in ([], [1.0]):
        interval = history_interval(scores, binary=True, value_range=(0, 1))

        assert (interval.lower, interval.median, interval.upper) == (None, None, None)
        assert (interval.method, interval.degenerate, interval.advice) == (None, False, None)
        assert interval.warnings == ("n<30",)


@pytest.mark.parametrize("n", range(2, 9))
def test_it_answers_every_small_history(n: int) -> None:
    for scores in (continuous(n), np.arange(float(n)), np.repeat([0.0, 1.0], [1, n - 1])):
        lower, median, upper = ends(history_interval(scores))

        assert scores.min() - 1e-9 <= lower <= median <= upper <= scores.max() + 1e-9


# Equal scores


def test_it_advises_clopper_pearson_for_declared_binary_scores() -> None:
    for score, k in ((1.0, 40), (0.0, 0)):
        interval = history_interval([score] * 40, binary=True, value_range=(0, 1))

        lower, upper = clopper_pearson(k, 40)
        assert ends(interval) == [score] * 3
        assert interval.degenerate
        assert interval.advice == Advice("clopper-pearson", round(lower, 9), round(upper, 9))
        assert interval.warnings == ("degenerate",)


def test_it_advises_betting_when_the_range_is_known() -> None:
    interval = history_interval([4.0] * 10, value_range=(1.0, 5.0))

    lower, upper = betting_interval([4.0] * 10, None, 0.95, (1.0, 5.0))
    assert interval.advice == Advice("betting", round(lower, 9), round(upper, 9))
    assert interval.warnings == ("n<30", "degenerate")


def test_it_has_no_advice_when_nothing_is_declared() -> None:
    assert history_interval([1.0] * 40).advice is None
    assert history_interval([1.0] * 40, binary=False).advice is None


def test_it_advises_when_few_scores_carry_the_variance() -> None:
    binary = history_interval([1.0] * 39 + [0.0], binary=True)
    lower, upper = clopper_pearson(39, 40)

    assert not binary.degenerate
    assert binary.warnings == ("skewed",)
    assert binary.advice == Advice("clopper-pearson", round(lower, 9), round(upper, 9))
    assert history_interval([1.0] * 39 + [0.1], value_range=(0, 1)).advice is not None
    assert history_interval([1.0] * 39 + [0.1]).warnings == ("skewed",)


def test_it_advises_when_an_end_of_the_range_has_not_been_seen() -> None:
    scores = 1.0 - 0.05 * np.random.default_rng(1).random(30)

    found = history_interval(scores, value_range=(0, 1))

    assert found.warnings == ("skewed",)
    assert found.advice is not None
    assert found.advice.lower < 0.9 < scores.min()


def test_it_advises_nothing_where_the_variance_is_shared() -> None:
    for scores in (np.tile([0.0, 1.0], 20), np.random.default_rng(2).random(40)):
        assert (history_interval(scores, value_range=(0, 1)).advice, "skewed" in history_interval(scores).warnings) == (
            None,
            False,
        )


def test_zeros_and_ones_are_skewed_alike_whether_counted_or_not() -> None:
    for ones in range(1, 40):
        bits = np.repeat([0.0, 1.0], [40 - ones, ones])

        assert history_interval(bits).warnings == history_interval(2.0 * bits).warnings


# Warnings


def test_it_warns_below_thirty_scores() -> None:
    assert "n<30" in history_interval(continuous(29)).warnings
    assert "n<30" not in history_interval(continuous(30)).warnings


def test_it_warns_of_autocorrelation() -> None:
    scores = np.sort(continuous(100))

    interval = history_interval(scores)

    centred = scores - scores.mean()
    rho = (centred[1:] @ centred[:-1]) / (centred @ centred)
    assert interval.warnings == ("autocorrelated",)
    assert interval.autocorrelation_width_factor == pytest.approx(math.sqrt((1 + rho) / (1 - rho)), abs=1e-8)


def test_it_does_not_warn_of_independent_or_alternating_scores() -> None:
    for scores in (continuous(200), np.tile([0.0, 1.0], 100)):
        interval = history_interval(scores)

        assert interval.warnings == ()
        assert interval.autocorrelation_width_factor is None


def test_the_threshold_falls_with_the_root_of_n() -> None:
    rng = np.random.default_rng(8)
    noise = rng.normal(size=1000)
    scores = noise[1:] + 0.2 * noise[:-1]

    assert width_factor(scores[:40]) is None
    assert width_factor(scores) is not None


# What it refuses


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"scores": [0.1, math.nan]}, "scores"),
        ({"scores": [0.1, math.inf]}, "scores"),
        ({"scores": [-math.inf, 0.1]}, "scores"),
        ({"scores": [0.1, None]}, "scores"),
        ({"scores": ["high", "low"]}, "scores"),
        ({"scores": [[0.1], [0.2]]}, "scores"),
        ({"scores": [1e80, 0.0]}, "scores"),
        ({"scores": [0.1, 0.2], "level": 0.0}, "level"),
        ({"scores": [0.1, 0.2], "level": 1.0}, "level"),
        ({"scores": [0.1, 0.2], "level": 95}, "level"),
        ({"scores": [0.1, 0.2], "level": math.nan}, "level"),
        ({"scores": [0.1, 0.2], "level": "high"}, "level"),
        ({"scores": [0.1, 1.2], "value_range": (0, 1)}, "value_range"),
        ({"scores": [-0.1, 0.2], "value_range": [0, 1]}, "value_range"),
        ({"scores": [0.1, 0.2], "value_range": (1, 0)}, "value_range"),
        ({"scores": [0.1, 0.2], "value_range": (0, math.inf)}, "value_range"),
        ({"scores": [0.1, 0.2], "value_range": (0, 1, 2)}, "value_range"),
        ({"scores": [0.1, 0.2], "value_range": 5}, "value_range"),
        ({"scores": [0.0, 0.5], "binary": True}, "binary"),
        ({"scores": [0.5], "binary": True}, "binary"),
        ({"scores": [], "level": 2.0}, "level"),
    ],
)
def test_it_refuses_in_words_that_name_the_parameter(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=f"`{named}`.*\\.$"):
        history_interval(**arguments)  # type: ignore[arg-type]


def test_it_reads_a_list_and_a_tuple_as_the_same_range() -> None:
    scores = [1.0] * 12

    assert history_interval(scores, value_range=[0, 1]) == history_interval(scores, value_range=(0.0, 1.0))


def test_it_never_guesses_that_scores_are_binary() -> None:
    assert history_interval([0.0, 1.0, 0.5], binary=None).method == "exact-enumeration"
    assert history_interval([1.0, 1.0], binary=None).advice is None


def test_its_answer_is_frozen() -> None:
    interval = history_interval([0.0, 1.0])

    with pytest.raises(dataclasses.FrozenInstanceError):
        interval.lower = 0.3


def test_it_leaves_the_scores_as_they_were() -> None:
    scores = continuous(50)
    before = scores.copy()

    history_interval(scores)

    assert np.array_equal(scores, before)
