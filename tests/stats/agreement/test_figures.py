"""Figures of agreement against published worked examples, and their intervals against simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from evalsvc.stats.agreement.bootstrap import AgreementFigure
from evalsvc.stats.agreement.figures import (
    Measurement,
    Ratings,
    agreeing_share,
    cohen_kappa,
    disagreement,
    fleiss_kappa,
    krippendorff_alpha,
)

KINDS: tuple[Measurement, Measurement] = ("ordinal", "interval")
# Krippendorff 2011, section C: four observers, twelve units, some not judged.
OBSERVERS = {
    "A": "1 2 3 3 2 1 4 1 2 . . .",
    "B": "1 2 3 3 2 2 4 1 2 5 . 3",
    "C": ". 3 3 3 2 3 4 2 2 5 1 .",
    "D": "1 2 3 3 2 4 4 1 2 5 1 .",
}
# Fleiss 1971 in its form of 14 raters and five categories, as textbooks work it out (kappa .210).
FLEISS = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""


def four_observers() -> Ratings:
    rows = {name: text.split() for name, text in OBSERVERS.items()}
    return [{name: float(row[i]) for name, row in rows.items() if row[i] != "."} for i in range(12)]


def two(pairs: list[tuple[str, str]]) -> Ratings:
    return [{"a": first, "b": second} for first, second in pairs]


@pytest.mark.parametrize(("measurement", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_table_of_four_observers(measurement: Measurement, value: float) -> None:
    found = krippendorff_alpha(four_observers(), measurement)

    assert found.value is not None
    assert round(found.value, 3) == value
    # The unit that one observer alone has judged says nothing.
    assert (found.n_items, found.n_answers) == (11, 40)


def test_krippendorffs_binary_table() -> None:
    """Section A: ten articles, two observers, alpha .095."""
    first, second = "0100000010", "1110010000"

    found = krippendorff_alpha(two(list(zip(first, second, strict=True))), "nominal")
    assert found.value is not None and round(found.value, 3) == 0.095


def test_krippendorffs_nominal_table() -> None:
    """Section B: twelve passages, five categories, alpha .692."""
    found = krippendorff_alpha(two(list(zip("aabbdcccedda", "babbbccceddd", strict=True))), "nominal")

    assert found.value is not None and round(found.value, 3) == 0.692


def test_fleiss_table() -> None:
    ratings: list[dict[str, float | str]] = []
    for line in FLEISS.split("\n")[1:-1]:
        said = [category for category, n in enumerate(map(int, line.split())) for _ in range(n)]
        ratings.append({str(i): float(one) for i, one in enumerate(said)})

    found = fleiss_kappa(ratings)
    assert found.value is not None and round(found.value, 3) == 0.210


def test_cohens_table() -> None:
    """50 grant applications: 20 twice yes, 15 twice no, 5 and 10 apart: p_o .7, p_e .5."""
    found = cohen_kappa(two([("y", "y")] * 20 + [("n", "n")] * 15 + [("y", "n")] * 5 + [("n", "y")] * 10))

    assert found.value == pytest.approx(0.4)


@pytest.mark.parametrize("figure", [cohen_kappa, fleiss_kappa, lambda ratings: krippendorff_alpha(ratings, "nominal")])
def test_all_the_same_is_undefined_and_not_one(figure: Callable[[Ratings], AgreementFigure]) -> None:
    found = figure(two([("y", "y")] * 30))

    assert (found.value, found.lower, found.reason) == (None, None, "all_answers_equal")


@pytest.mark.parametrize("measurement", ["nominal", "ordinal", "interval"])
def test_nothing_is_undefined(measurement: Measurement) -> None:
    unanswered: list[Ratings] = [[], [{"a": 1.0}], [{}]]
    for ratings in unanswered:
        found = krippendorff_alpha(ratings, measurement)
        assert (found.value, found.reason) == (None, "no_item_answered_twice")


def test_perfect_agreement_is_one_without_an_interval() -> None:
    """No resample shows another value: an interval from 1 to 1 would claim certainty."""
    found = krippendorff_alpha(two([("y", "y"), ("n", "n")] * 20), "nominal")

    assert (found.value, found.lower, found.reason) == (1.0, None, "all_answers_equal")


def test_three_reviewers_have_no_cohens_kappa() -> None:
    assert cohen_kappa([{"a": "y", "b": "n", "c": "y"}]).reason == "not_two_reviewers"


def test_uneven_items_have_no_fleiss_kappa() -> None:
    found = fleiss_kappa([{"a": "y", "b": "n"}, {"a": "y", "b": "n", "c": "y"}])

    assert (found.value, found.reason) == (None, "items_not_answered_equally_often")


def test_the_same_seed_gives_the_same_interval() -> None:
    assert krippendorff_alpha(four_observers(), "ordinal", seed=3) == krippendorff_alpha(
        four_observers(), "ordinal", seed=3
    )


def test_ordinal_and_interval_know_their_distances() -> None:
    near, far = ([{"a": 1.0, "b": b}, {"a": 2.0, "b": 2.0}, {"a": 9.0, "b": 9.0}] for b in (2.0, 9.0))

    ordinal, interval = ([krippendorff_alpha(one, kind).value or 0 for one in (near, far)] for kind in KINDS)
    assert ordinal[0] > ordinal[1] and interval[0] > interval[1]


def test_how_far_an_item_is_apart() -> None:
    assert disagreement(["a", "a", "b"]) == pytest.approx(2 / 3)
    assert disagreement([1.0, 3.0]) == 2.0
    assert disagreement(["a"]) == 0.0
    assert agreeing_share(two([("a", "a"), ("a", "b")])) == 0.5


def draw(rng: np.random.Generator, n: int, n_raters: int, shares: list[float], skill: float) -> Ratings:
    """Raters who see the truth with this probability, and guess otherwise."""
    truth = rng.choice(len(shares), size=n, p=shares)
    guesses = rng.choice(len(shares), size=(n, n_raters), p=shares)
    said = np.where(rng.random((n, n_raters)) < skill, truth[:, None], guesses)
    return [{str(rater): float(one) for rater, one in enumerate(row)} for row in said]


@pytest.mark.parametrize(
    ("n", "n_raters", "shares", "measurement"),
    [(40, 2, [0.5, 0.5], "nominal"), (40, 3, [0.8, 0.2], "nominal"), (40, 3, [0.25] * 4, "ordinal")],
)
def test_intervals_cover_the_agreement_of_new_items(
    n: int, n_raters: int, shares: list[float], measurement: Measurement
) -> None:
    """Whoever guesses with probability 1 - s agrees as far as s², whatever is measured."""
    rng, covered = np.random.default_rng(5), 0
    for seed in range(100):
        found = krippendorff_alpha(draw(rng, n, n_raters, shares, 0.7), measurement, seed=seed)
        assert found.lower is not None and found.upper is not None
        covered += found.lower <= 0.49 <= found.upper

    # 400 runs of each cover 94 to 97 %; of 100, 87 or fewer happen once in 100.
    assert covered >= 88
