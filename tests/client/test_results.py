"""Results: saved, loaded, as tables, and scored again."""

from __future__ import annotations

import csv
import json
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalsvc.client import Client, ConfigurationError, CustomMetric, EvaluationResult, Metric, Metrics, Row, RowScore


def made(**changes: Any) -> EvaluationResult:
    rows = [
        Row("0", 2, {"query": "a"}, "x", {"reader": {"answer": "x"}}, index=0, scores={"em": RowScore(1.0, True)}),
        Row("1", 0, b"\xff", Decimal("1.5"), datetime(2026, 1, 2, tzinfo=UTC), index=1, contexts=["c"], latency_ms=2.5),
        Row("2", 1, "=1+1", None, None, "error", "bug", "ValueError: no", index=2),
    ]
    metrics = Metrics({"em": Metric("em", 0.5, 0.1, 0.9, n=2, N=3, level=0.95, warnings=("n<30",))})
    facts = {"experiment_id": "7", "config": "eval", "n_examples": 3, "parameters": {"when": datetime(2026, 1, 2)}}
    return EvaluationResult("a name", **{**facts, **changes}, metrics=metrics, rows=rows)


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_a_saved_result_is_read_back(tmp_path: Path, suffix: str) -> None:
    path = made().save(tmp_path / f"result{suffix}")

    assert EvaluationResult.load(path) == made()


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_saved_again_it_is_the_same_to_the_byte(tmp_path: Path, suffix: str) -> None:
    first = made().save(tmp_path / f"a{suffix}")
    second = EvaluationResult.load(first).save(tmp_path / f"b{suffix}")

    assert first.read_bytes() == second.read_bytes()


def test_files_hold_text_only(tmp_path: Path) -> None:
    result = made()
    result.rows[0].output = object()
    path = result.save(tmp_path / "a.json")

    assert path.read_bytes().isascii()
    assert EvaluationResult.load(path).rows[0].output == {"$type": "opaque", "value": "builtins.object"}


def test_a_line_for_each_row(tmp_path: Path) -> None:
    lines = made().save(tmp_path / "a.jsonl").read_text().splitlines()

    assert len(lines) == 4
    assert json.loads(lines[0])["metrics"]["em"]["value"] == 0.5


def test_a_csv_has_a_column_for_each_metric(tmp_path: Path) -> None:
    with made().save(tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert [row["em"] for row in rows] == ["1.0", "", ""]
    assert rows[0]["input"] == '{"query": "a"}'
    assert rows[2]["error_message"] == "ValueError: no"


def test_a_spreadsheet_runs_nothing(tmp_path: Path) -> None:
    with made().save(tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert rows[2]["input"] == "'=1+1"


def test_a_csv_of_nothing_has_a_header(tmp_path: Path) -> None:
    path = EvaluationResult("empty").save(tmp_path / "a.csv")

    assert path.read_text().startswith("index,example_id,input,")


@pytest.mark.parametrize("name", ["a.pkl", "a", "a.CSVX"])
def test_it_saves_in_formats_it_knows(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="saved as"):
        made().save(tmp_path / name)


@pytest.mark.parametrize("content", ['{"a": 1}', "[]", '{"format": "evalsvc-evaluation-result", "version": 9}'])
def test_it_refuses_other_files(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"a\.json"):
        EvaluationResult.load(path)


def test_a_csv_is_not_loaded(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no types"):
        EvaluationResult.load(made().save(tmp_path / "a.csv"))


def test_it_becomes_a_data_frame() -> None:
    pytest.importorskip("pandas")
    frame = made().to_dataframe()

    assert list(frame["status"]) == ["ok", "ok", "error"]
    assert frame["em"].iloc[0] == 1.0
    assert frame["input"].iloc[0] == {"query": "a"}
    assert "cost" not in frame


def test_it_says_how_to_get_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigurationError, match="pip install pandas"):
        made().to_dataframe()


def test_it_counts_what_failed() -> None:
    result = made()

    assert (len(result), result.n_error) == (3, 1)
    assert [row.example_id for row in result.errors] == ["2"]
    assert "em 0.50 [0.10, 0.90]" in str(result)
    assert "em 0.50 [0.10, 0.90]" in result._repr_html_()


def test_a_function_scores_what_is_there() -> None:
    result = made()
    found = result.calculate_metrics(
        lambda input, output, expected: output == {"reader": {"answer": expected}}, name="right"
    )

    assert (found["right"].value, found["right"].n, found["right"].N, found["right"].n_error) == (0.5, 2, 3, 1)
    assert found["right"].method == "wilson"
    assert result.rows[0].scores["right"].value == 1.0
    assert result.metrics.keys() == {"em", "right"}


def test_a_component_is_scored_by_itself() -> None:
    result = made()
    result.rows[0].expected = {"reader": {"answer": "x"}}

    def em(input: Any, output: Any, expected: Any) -> bool:
        return bool(output == expected)

    found = result.calculate_metrics(em, component="reader")

    assert found["reader.em"].n == 2
    assert result.rows[0].scores["reader.em"].value == 1.0


def test_a_coroutine_scores_too() -> None:
    async def length(input: Any, output: Any, expected: Any) -> int:
        return len(str(output))

    assert made().calculate_metrics(length)["length"].n == 2


def test_a_scorer_that_breaks_is_no_score() -> None:
    result = made()
    found = result.calculate_metrics(lambda input, output, expected: float(output["reader"]["answer"] == "x"), name="m")

    assert (found["m"].value, found["m"].n, found["m"].n_error) == (1.0, 1, 2)
    assert result.rows[1].scores["m"].value is None
    assert "TypeError" in str(result.rows[1].scores["m"].error_message)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "much"])
def test_what_is_no_number_is_no_score(value: Any) -> None:
    found = made().calculate_metrics(lambda input, output, expected: value, name="m")

    assert (found["m"].value, found["m"].n, found["m"].n_error) == (None, 0, 3)


def test_a_ratio_is_left_to_the_service() -> None:
    with pytest.raises(ValueError, match="ratio"):
        made().calculate_metrics(CustomMetric(lambda input, output, expected: (1, 2), ratio=True))


def test_one_name_for_one_metric() -> None:
    with pytest.raises(ValueError, match="one metric"):
        made().calculate_metrics("pii", "toxicity", name="both")


def test_an_evaluator_scores_what_is_there(client: Client) -> None:
    result = made(client=client)
    result.rows[1].output = "Write to jo@example.com"
    found = result.calculate_metrics("pii", "metrics/patronus:compute-rouge")

    assert found["pii"].value == 0.5
    assert found["metrics/patronus:compute-rouge"].n == 2
    assert result.rows[1].scores["pii"].passed is False
    assert client.history("pii").n_total == 0


def test_an_evaluator_needs_a_client() -> None:
    with pytest.raises(ConfigurationError, match="client=Client"):
        made().calculate_metrics("pii")


def test_an_evaluator_that_cannot_run_is_no_score(client: Client) -> None:
    result = made(client=client)
    result.rows[1].expected = None
    found = result.calculate_metrics("exact-match")

    assert (found["exact-match"].n, found["exact-match"].n_error, found["exact-match"].n_na) == (1, 1, 1)
    assert result.rows[1].scores["exact-match"].error_code == "not_applicable"


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_metrics_are_saved(tmp_path: Path, suffix: str) -> None:
    path = made().metrics.save(tmp_path / f"m{suffix}")
    text = path.read_text()

    if suffix == ".csv":
        assert text.splitlines()[0].startswith("metric,value,lower,upper,n,N")
        assert text.splitlines()[1].startswith("em,0.5,0.1,0.9,2,3")
    else:
        assert json.loads(text)["em"]["upper"] == 0.9


def test_metrics_are_saved_in_formats_they_know(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.csv or \.json"):
        made().metrics.save(tmp_path / "m.xlsx")
