"""`evalsvc import openai-evals`: logs as evals 3.0.1 writes them, output items as openai 3.57.0 reads them, samples."""

from __future__ import annotations

import json
from pathlib import Path

from tests.caller import Caller
from tests.cli.exported import REPORT, SPEC, event, graded, item
from tests.cli.importing import datasets, results, run, verdicts, write_lines

LOG = [
    SPEC,
    event(0, "sampling", prompt=[{"role": "user", "content": "1+1?"}], sampled=["2"]),
    event(1, "match", correct=True, expected="2", picked="2", sampled="2", options=["2"]),
    event(2, "sampling", "sums.dev.1", prompt="1+2?", sampled=["4"]),
    event(3, "match", "sums.dev.1", correct=False, expected=["3", "three"], picked=None, sampled="4", options=["3"]),
    event(4, "metrics", "sums.dev.1", choice="Y", score=0.25, metascore=None),
    event(5, "raw_sample", input="1+1?", ideal="2"),
    REPORT,
]


def test_a_log_becomes_matches_and_metrics(web: str, alice: Caller, charlie: Caller, tmp_path: Path) -> None:
    done = run(web, alice, "openai-evals", write_lines(tmp_path / "log.jsonl", LOG), "--json")

    assert done.code == 0, done.err
    found = {(row["criteria"], row["evaluated_model_output"]): row for row in results(alice)}
    said = {key: (row["score_raw"], row["pass"], row.get("text_output")) for key, row in found.items()}
    assert said == {
        ("match", "2"): (1.0, True, None),
        ("match", "4"): (0.0, False, None),
        ("choice", "4"): (None, None, "Y"),
        ("score", "4"): (0.25, None, None),
    }
    wrong = found["match", "4"]
    assert (wrong["evaluator_id"], wrong["created_at"][:23]) == ("external:sums", "2025-03-01T10:00:03.123")
    assert (wrong["evaluated_model_input"], wrong["evaluated_model_output"]) == ("1+2?", "4")
    assert wrong["evaluated_model_gold_answers"] == ["3", "three"]
    assert found["match", "2"]["evaluated_model_input"] == '[{"role": "user", "content": "1+1?"}]'
    assert (done.json["without_score"], done.json["beside"]) == (1, {"raw_sample events": 1, "reports": 1})
    assert results(charlie) == []


def test_output_items_become_the_verdict_of_each_grader(web: str, alice: Caller, tmp_path: Path) -> None:
    rows = [item(1, graded(1.0), graded(0.5, passed=False, name="tone")), item(2, graded(None, passed=False))]
    (tmp_path / "items.json").write_text(json.dumps({"object": "list", "data": rows, "has_more": False}))

    done = run(web, alice, "openai-evals", tmp_path / "items.json", "--json")

    assert (done.json["kept"], done.json["without_score"]) == (2, 1)
    assert {row["evaluator_id"]: (row["score_raw"], row["pass"]) for row in results(alice)} == {
        "external:exact": (1.0, True),
        "external:tone": (0.5, False),
    }
    row = results(alice)[0]
    assert (row["evaluated_model_input"], row["evaluated_model_output"]) == ("Capital?", "Oslo")
    assert (row["evaluated_model_name"], row["created_at"][:10]) == ("m-1", "2025-03-01")


def test_lines_of_output_items_are_the_same(web: str, alice: Caller, tmp_path: Path) -> None:
    (tmp_path / "page.json").write_text(json.dumps([item(1, graded(1.0))]))
    files = [write_lines(tmp_path / "items.jsonl", [item(1, graded(1.0))]), tmp_path / "page.json"]

    done = run(web, alice, "openai-evals", *files, "--json")

    assert (done.json["kept"], done.json["duplicates"]) == (1, 1)
    assert verdicts(alice) == {"exact-0": (1.0, True, None)}


def test_samples_become_a_dataset(web: str, alice: Caller, tmp_path: Path) -> None:
    rows = [{"input": [{"role": "user", "content": "1+1?"}], "ideal": "2"}, {"messages": [], "input": "x", "ideal": ["3", "three"]},
            {"item": {"question": "4?"}}]  # fmt: skip
    file = write_lines(tmp_path / "sums.jsonl", rows)

    made = [
        run(web, alice, "openai-evals", file, "--dataset-name", "mine", "--json").json["datasets"] for _ in range(2)
    ]

    assert [one["created"] for (one,) in made] == [True, False]
    assert [(row["input"], row.get("expected")) for row in datasets(alice)["mine"]] == [
        ([{"role": "user", "content": "1+1?"}], "2"),
        ("x", ["3", "three"]),
        ({"question": "4?"}, None),
    ]


def test_a_log_without_its_spec_is_told(web: str, alice: Caller, tmp_path: Path) -> None:
    done = run(web, alice, "openai-evals", write_lines(tmp_path / "log.jsonl", LOG[1:]))

    assert (done.code, results(alice)) == (2, [])
    assert "log.jsonl, line 2, field run_id: No spec stands before the event" in done.err


def test_a_result_that_is_none_is_told_by_line_and_field(web: str, alice: Caller, tmp_path: Path) -> None:
    rows = [
        item(1, graded(1.0)),
        item(2, graded(1.0), {"name": "x", "passed": True, "score": "high"}),
        item(3, object="eval.run"),
    ]

    done = run(web, alice, "openai-evals", write_lines(tmp_path / "items.jsonl", rows))

    assert (done.code, results(alice)) == (2, [])
    assert 'items.jsonl, line 2, field results.1.score: A number is expected, and "high" is found.' in done.err
    assert "items.jsonl, line 3, field object: 'eval.run.output_item' is expected, and 'eval.run' is found." in done.err
