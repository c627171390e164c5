"""Labels counted in the client: the numbers of the service, to the width of its intervals."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.client import Client, EvaluationResult, Row

SPORTS = ["chess", "golf", "judo"]


def result(n: int = 30) -> EvaluationResult:
    def said(i: int) -> Any:
        return "golf" if i % 6 == 0 else SPORTS[i % 3]

    rows = [Row(str(i), i, i, {"sport": SPORTS[i % 3]}, {"label": said(i)}, index=i) for i in range(n)]
    return EvaluationResult("r", rows=[*rows, Row("x", n, n, {"sport": "golf"}, status="error", error_type="bug")])


def table(one: EvaluationResult, **options: Any) -> Any:
    return one.confusion(lambda output: output["label"], lambda expected: expected["sport"], **options)


def test_it_counts_and_says_how_sure_each_share_is() -> None:
    found = table(result())

    assert found.labels == SPORTS
    assert found.matrix == [[5, 5, 0], [0, 10, 0], [0, 0, 10]]
    assert (found.n, found.N, found.n_error, found.n_unreadable) == (30, 31, 1, 0)
    chess = found.classes[0]
    assert (chess.recall.value, chess.precision.value, chess.recall.n) == (0.5, 1.0, 10)
    assert 0 < chess.f1.lower < chess.f1.value < chess.f1.upper < 1
    assert found.macro_f1.value == pytest.approx((2 / 3 + 20 / 25 + 1) / 3)
    assert found.macro_f1.lower < found.macro_f1.value < found.macro_f1.upper
    assert found.covers == found.macro_f1.covers == "new data"


def test_a_seed_gives_the_same_interval_again() -> None:
    assert table(result(), seed=3) == table(result(), seed=3)
    assert table(result(), seed=3).macro_f1.lower != table(result(), seed=4).macro_f1.lower


def test_what_is_no_label_is_counted_apart() -> None:
    one = result(3)
    one.rows[0].output = {"label": ["golf"]}
    one.rows[1].output = {"label": " GOLF "}
    found = table(one, ignore_case=True)

    assert (found.n, found.n_unreadable, found.labels) == (2, 1, ["golf", "judo"])
    # Nobody erred, so no resample differs.
    assert (found.macro_f1.lower, found.macro_f1.warnings) == (None, ("degenerate",))


def test_labels_that_nobody_asked_for_are_pooled() -> None:
    one = EvaluationResult("r", rows=[Row(str(i), i, i, SPORTS[i % 3], f"word {i}", index=i) for i in range(150)])

    assert len(one.confusion().labels) == 101
    with pytest.raises(ValueError, match="not classes"):
        EvaluationResult("r", rows=[Row(str(i), i, i, i, 1) for i in range(101)]).confusion()


def test_the_service_counts_the_same(client: Client) -> None:
    sports = [SPORTS[i % 3] for i in range(12)]
    experiment = client.experiment(
        "labels",
        {"guess": lambda text: "golf"},
        sports,
        sports,
        evaluators=["exact-match"],
        policy="manual",
        progress=False,
    )
    asked, here = experiment.confusion("guess"), experiment.result("guess").confusion()

    assert (asked["labels"], asked["matrix"], asked["n"]) == (here.labels, here.matrix, here.n)
    assert asked["macro_f1"]["value"] == pytest.approx(here.macro_f1.value)
