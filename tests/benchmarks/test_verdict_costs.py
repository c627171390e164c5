"""CPU times of verdicts: a row for each evaluator and size, and none where it has no score."""

from __future__ import annotations

import json

import pytest

from benchmarks.figures import Figure
from benchmarks.verdict_costs import cost_of, cpu_subjects, main, row_of
from evaluators.base import Lane


def test_it_measures_what_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tiny", "--against", "none", "--id", "toxicity-2026-11-01", "--sizes", "200", "2000"]) == 0
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    assert [row["name"] for row in rows] == ["toxicity-2026-11-01, 200", "toxicity-2026-11-01, 2000"]
    assert all(row["now"]["median"] > 0 and row["parent"] is None for row in rows)
    assert [row["goal"] and row["goal"]["value"] for row in rows] == [None, 60.0]


def test_every_evaluator_of_the_lane_is_measured() -> None:
    known = list(cpu_subjects())
    assert {"phi-2026-11-28", "toxicity-2026-11-28"} <= {subject.name for subject in known}
    assert all(subject.family.lane_of(subject.settings) is Lane.CPU for subject in known)


def test_what_has_no_score_has_no_figure() -> None:
    [subject] = [subject for subject in cpu_subjects() if subject.name == "phi-2026-11-28"]
    assert cost_of(subject, 200, 1) is not None
    found = row_of("phi", 200, [], [])
    assert found.now is None
    assert found.verdict == "not measured"


def test_a_ratio_needs_both_versions_in_every_round() -> None:
    assert row_of("phi", 200, [10.0, 20.0], [20.0, 20.0]).change == Figure(0.75, 0.5, 1.0, 2)
    assert row_of("phi", 200, [10.0, 20.0], [20.0]).change is None
