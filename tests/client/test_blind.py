"""Blind runs: a metric that lacks an expectation is not applicable, which is told apart from one that failed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from evalsvc.client import Client, EvaluationResult, Metric
from tests.client.capitals import knows, run


@pytest.fixture
def blind(client: Client) -> EvaluationResult:
    return run(client, knows, expected=None, evaluators=["exact-match", "pii"])


def test_what_cannot_apply_is_not_said_to_have_failed(blind: EvaluationResult) -> None:
    metric = blind.metrics["exact-match"]

    assert (metric.n, metric.n_na, metric.n_error, blind.n_error) == (0, 4, 0, 0)
    assert str(metric) == "exact-match not applicable"
    assert "0 failed, exact-match not applicable, pii 1.00 [" in str(blind)
    assert "<td>0 scored of 4, 4 not applicable</td>" in blind._repr_html_()


def test_the_bar_says_so(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    run(client, knows, expected=None, progress=True)

    assert "4/4  exact-match not applicable" in capsys.readouterr().err


def test_tables_have_the_reason_beside_the_score(blind: EvaluationResult, tmp_path: Path) -> None:
    with blind.save(tmp_path / "blind.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert {row["exact-match.error_code"] for row in rows} == {"not_applicable"}
    assert "pii.error_code" not in rows[0]
    pytest.importorskip("pandas")
    frame = blind.to_dataframe()
    assert set(frame["exact-match.error_code"]) == {"not_applicable"}
    assert "exact-match" not in frame


def test_labels_without_an_expectation_are_not_unreadable(blind: EvaluationResult) -> None:
    table = blind.confusion()

    assert (table.n, table.n_na, table.n_unreadable, table.n_error, table.N) == (0, 4, 0, 0, 4)


def test_two_blind_runs_have_no_scores_to_compare(client: Client, blind: EvaluationResult) -> None:
    other = run(client, knows, expected=None, evaluators=["exact-match"], name="other")
    found = client.compare(blind, other, metric="exact-match")

    assert "no score on both sides of their 4 common examples" in str(found)


def test_two_blind_runs_are_set_side_by_side(client: Client, blind: EvaluationResult) -> None:
    other = run(client, lambda query: "Rome", expected=None, evaluators="pii", name="<b>other</b>")
    found = blind.diff(other)

    assert (len(found), found.n_equal, [one.is_equal for one in found]) == (4, 1, [False, False, False, True])
    assert (found.pairs[0].a, found.pairs[0].b) == ("Paris", "Rome")
    assert str(found).endswith("1 of 4 outputs are equal")
    assert "<b>other" not in found._repr_html_()
    strange = run(client, lambda text: text, ["a", "b"], None, evaluators="pii")
    with pytest.raises(ValueError, match="not the same examples"):
        blind.diff(strange)


def test_scored_here_it_is_the_same(client: Client) -> None:
    made = run(client, knows, expected=None)
    made.experiment_id = None
    metric = made.calculate_metrics("exact-match", name="here")["here"]

    assert (metric.n, metric.n_na, metric.n_error) == (0, 4, 0)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"N": 4, "n_na": 3, "n_error": 1}, "m ? (1 failed, 3 not applicable)"),
        ({"N": 4, "n_pending": 4}, "m ?"),
        ({"value": 0.5, "n": 2, "N": 4, "n_na": 2}, "m 0.5 (2 not applicable)"),
    ],
)
def test_each_count_has_its_word(counts: dict[str, Any], said: str) -> None:
    assert str(Metric("m", **{"value": None, **counts})) == said
