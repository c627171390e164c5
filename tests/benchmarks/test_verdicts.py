"""The figures of `make bench-evaluators`: what they are, and what their intervals are of."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks.verdicts import run, scoring
from benchmarks.verdicts.measures import Figure, Labels, Outcome, differences, figures, is_worse
from benchmarks.verdicts.rows import APART, LabelledSet, claimed, drawn, said
from benchmarks.verdicts.scoring import dated_of, outcome
from evaluators.families.retrieval.hallucination import Hallucination

RNG = np.random.default_rng(5)
GOOD = [bool(each) for each in RNG.random(300) < 0.5]
SCORES = np.round(np.clip(0.3 * np.array(GOOD) + RNG.random(300) * 0.7, 0, 1), 2)
ALONE = Labels.of(GOOD, [str(index) for index in range(300)])


def outcome_of(scores: np.ndarray, threshold: float = 0.5) -> Outcome:
    return Outcome(scores, scores >= threshold, np.zeros(len(scores), bool))


def test_the_figures_are_those_of_their_names() -> None:
    found = figures(ALONE, outcome_of(SCORES), is_binary=False)

    good, passed = np.array(GOOD), SCORES >= 0.5
    assert found["auc"].value == pytest.approx(roc_auc_score(good, SCORES), abs=1e-4)
    assert found["accuracy"].value == pytest.approx((good == passed).mean(), abs=1e-4)
    assert found["fpr"].value == pytest.approx((~passed[good]).mean(), abs=1e-4)
    assert found["fnr"].value == pytest.approx(passed[~good].mean(), abs=1e-4)
    assert all(figure.low <= figure.value <= figure.high for figure in found.values())


def test_ece_is_the_distance_of_scores_from_shares() -> None:
    labels = Labels.of([True, True, True, False] * 10, list(map(str, range(40))))

    found = figures(labels, outcome_of(np.array([0.95, 0.95, 0.25, 0.25] * 10)), is_binary=False)

    assert found["ece"].value == pytest.approx(0.5 * 0.05 + 0.5 * 0.25)


def test_rows_of_one_source_count_as_one() -> None:
    scores, good = np.repeat(SCORES, 4), [each for each in GOOD for _ in range(4)]
    together = Labels.of(good, [str(index // 4) for index in range(1200)])
    apart = Labels.of(good, [str(index) for index in range(1200)])

    wide, narrow, single = (
        figures(labels, outcome_of(each), is_binary=False)["accuracy"]
        for labels, each in ((together, scores), (apart, scores), (ALONE, SCORES))
    )

    assert wide.high - wide.low == pytest.approx(single.high - single.low, rel=0.2)
    assert narrow.high - narrow.low < 0.7 * (wide.high - wide.low)


def test_a_faultless_set_is_not_certain() -> None:
    found = figures(ALONE, outcome_of(np.array(GOOD, float)), is_binary=True)

    assert set(found) == {"accuracy", "majority", "undecided", "balanced_accuracy", "fpr", "fnr"}
    assert found["accuracy"].value == 1.0
    assert found["accuracy"].low == pytest.approx(300 / (300 + 1.96**2), abs=1e-3)
    assert found["fpr"].high > 0


def test_a_class_that_is_not_there_has_no_figure() -> None:
    found = figures(Labels.of([True] * 30, [str(n) for n in range(30)]), outcome_of(SCORES[:30]), is_binary=False)

    assert set(found) == {"accuracy", "majority", "undecided", "fpr", "ece"}


def test_a_few_rows_have_no_figure() -> None:
    few = Labels.of([True] * 29, [str(n) for n in range(29)])
    one_of_a_class = Labels.of([True] * 271 + [False] * 29, [str(n) for n in range(300)])

    assert figures(few, outcome_of(SCORES[:29]), is_binary=False) == {}
    assert set(figures(one_of_a_class, outcome_of(SCORES), is_binary=False)) == {
        *("accuracy", "majority", "undecided", "fpr", "ece"),
    }


def test_what_is_undecided_is_neither_right_nor_wrong() -> None:
    undecided = np.abs(SCORES - 0.5) < 0.1
    decided = outcome_of(SCORES)
    outcome = Outcome(decided.scores, decided.passed & ~undecided, undecided)

    found = figures(ALONE, outcome, is_binary=False)

    good, passed = np.array(GOOD)[~undecided], SCORES[~undecided] >= 0.5
    assert found["undecided"].value == pytest.approx(undecided.mean(), abs=1e-4)
    assert found["accuracy"].value == pytest.approx((good == passed).mean(), abs=1e-4)
    assert found["fpr"].value == pytest.approx((~passed[good]).mean(), abs=1e-4)
    assert found["fnr"].value == pytest.approx(passed[~good].mean(), abs=1e-4)
    assert found["majority"].value == pytest.approx(max(good.mean(), 1 - good.mean()), abs=1e-4)
    assert found["auc"] == figures(ALONE, outcome_of(SCORES), is_binary=False)["auc"]


def test_rows_without_a_score_are_left_out() -> None:
    scores = np.where(np.arange(300) % 3 == 0, np.nan, SCORES)
    kept = np.arange(300) % 3 != 0

    found = figures(ALONE, outcome_of(scores), is_binary=False)

    assert found["fpr"].value == pytest.approx((SCORES[kept & np.array(GOOD)] < 0.5).mean(), abs=1e-4)


def test_a_difference_is_of_pairs() -> None:
    after = np.clip(SCORES + np.where(GOOD, 0.02, -0.02), 0, 1)

    changed = differences(ALONE, outcome_of(SCORES), outcome_of(after), is_binary=False)
    alone = figures(ALONE, outcome_of(SCORES), is_binary=False)

    assert changed["auc"].low > 0
    assert changed["auc"].high - changed["auc"].low < 0.5 * (alone["auc"].high - alone["auc"].low)


def test_no_difference_here_may_be_one_elsewhere() -> None:
    changed = differences(ALONE, outcome_of(SCORES), outcome_of(SCORES), is_binary=False)

    assert changed["auc"] == Figure(0, 0, 0)
    assert changed["accuracy"].low == -changed["accuracy"].high < 0


@pytest.mark.parametrize(
    ("name", "difference", "worse"),
    [
        ("auc", Figure(-0.1, -0.2, -0.01), True),
        ("auc", Figure(-0.1, -0.2, 0.01), False),
        ("fpr", Figure(0.1, 0.01, 0.2), True),
        ("fpr", Figure(-0.1, -0.2, -0.01), False),
    ],
)
def test_worse_is_worse_by_more_than_the_interval(name: str, difference: Figure, worse: bool) -> None:
    assert is_worse(name, difference) is worse


def test_as_many_of_each_class_are_drawn_the_same_each_time() -> None:
    rows = [said(str(number), is_good=number % 5 == 0) for number in range(100)]

    chosen = drawn(rows, 10)

    assert chosen == drawn(rows, 10)
    assert [row.is_good for row in chosen].count(True) == 10 == len(chosen) / 2
    assert drawn(rows, None) == tuple(rows)


def rows_of_mills() -> LabelledSet:
    context = ("An old mill stands by the river.",)
    rows = [
        claimed("", context, text, is_good=is_good)
        for text, is_good in (("An old mill stands by the river.", True), ("The mill burned down in 1901.", False)) * 3
    ]
    return LabelledSet("mills", "Two claims.", ("retrieval-hallucination",), (), APART, tuple(rows))


def test_each_dated_id_stands_beside_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "REMEMBERED", tmp_path)
    found: dict[str, dict[str, object]] = {"sets": {}, "verdicts": {}, "differences": {}}

    run.of_set(rows_of_mills(), tmp_path, found)

    ids = [one.spec.id for one in dated_of(("retrieval-hallucination",))]
    assert list(found["verdicts"]) == ids
    assert list(found["differences"]) == ids[1:]
    with pytest.raises(ValueError, match="two sets are named 'mills'"):
        run.of_set(rows_of_mills(), tmp_path, found)
    assert json.loads("\n".join(run.lines(found))) == json.loads(json.dumps(found))


def test_what_was_scored_is_not_scored_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "REMEMBERED", tmp_path)
    mills = rows_of_mills()
    samples = [row.sample for row in mills.rows]
    (one, *_) = dated_of(mills.stems)
    first = outcome(one, samples, mills.digest)
    monkeypatch.setattr(Hallucination, "score", lambda *args, **kwargs: pytest.fail("scored again"))

    again = outcome(one, samples, mills.digest)

    assert (again.scores == first.scores).all()
    assert (again.passed == first.passed).all()
