"""`evalsvc import langfuse`, with files as langfuse 5.0.4's API, the pages' export and the export to a bucket write."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.caller import Caller
from tests.cli.exported import at, score
from tests.cli.importing import datasets, results, run, verdicts, write_csv, write_lines

KINDS = [
    score(1),
    score(2, dataType="BOOLEAN", name="polite", value=0, stringValue="False"),
    score(3, dataType="CATEGORICAL", name="tone", value=0, stringValue="calm"),
    score(4, dataType="CATEGORICAL", name="tone", value=0, stringValue="rude", configId="c1"),
    score(5, dataType="TEXT", name="note", value=0, stringValue="see above"),
    score(6, dataType="CORRECTION", name="fix", value=0, stringValue="Oslo"),
    score(7, value=None),
]
VERDICTS = {
    "helpful-0": (0.1, None, None),
    "polite-1": (0.0, False, None),
    "tone-2": (None, None, "calm"),
    "tone-3": (0.0, None, "rude"),
    "note-4": (None, None, "see above"),
    "fix-5": (None, None, "Oslo"),
}


def test_it_brings_scores_of_every_type(web: str, alice: Caller, charlie: Caller, tmp_path: Path) -> None:
    done = run(web, alice, "langfuse", write_lines(tmp_path / "scores.jsonl", KINDS), "--json")

    assert done.code == 0, done.err
    assert verdicts(alice) == VERDICTS
    assert {key: done.json[key] for key in ("rows", "scores", "kept", "duplicates", "without_score", "n_left_out")} == {
        "rows": 7, "scores": 6, "kept": 6, "duplicates": 0, "without_score": 1, "n_left_out": 0,
    }  # fmt: skip
    assert results(charlie) == []


def test_a_score_keeps_its_time_its_words_and_its_ids(web: str, alice: Caller, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "scores.jsonl", [score(1, observationId="o1")])

    assert run(web, alice, "langfuse", file, "--app", "letters", "--project", "mail").code == 0
    (row,) = results(alice)
    assert row["created_at"].startswith("2025-05-29T13:46:01.963")
    assert (row["app"], row["explanation"], row["tags"]) == ("letters", "because 1", {"source": "langfuse"})
    (found,) = alice.post("/v1/evaluations/search", {"trace_id": "t1"}).json()["evaluations"]
    assert (found["log_id"], found["span_id"]) == ("langfuse:s1", "o1")
    names = {one["id"]: one["name"] for one in alice.get("/v1/projects").json()["projects"]}
    assert names[found["project_id"]] == "mail"
    assert found["metadata"]["score_id"] == "s1"
    assert found["metadata"]["metadata"] == {"n": 1}


def test_scores_find_their_texts_in_traces_and_observations(web: str, alice: Caller, tmp_path: Path) -> None:
    scores = write_lines(tmp_path / "scores.jsonl", [score(1), score(2, observationId="o1")])
    traces = [{"id": "t1", "timestamp": at(0), "name": "chat", "input": {"q": "Hi"}, "output": "Hello."}]
    spans = [{"id": "o1", "trace_id": "t1", "start_time": "2025-05-29 13:46:19.963000", "type": "GENERATION",
              "input": "Say hi", "output": "Hi!", "provided_model_name": "m-1"}]  # fmt: skip
    files = [scores, write_lines(tmp_path / "traces.jsonl", traces), write_lines(tmp_path / "obs.jsonl", spans)]

    assert run(web, alice, "langfuse", *files).code == 0
    trace, span = results(alice)
    assert (trace["evaluated_model_input"], trace["evaluated_model_output"]) == ('{"q": "Hi"}', "Hello.")
    assert (span["evaluated_model_input"], span["evaluated_model_output"]) == ("Say hi", "Hi!")
    assert span["evaluated_model_name"] == "m-1"


def test_every_form_of_the_export_is_read_alike(web: str, alice: Caller, tmp_path: Path) -> None:
    """The pages' JSON and CSV, a page of the third API, and the bucket's lines, packed."""
    encoded = {name: json.dumps("" if value is None else value) for name, value in score(1).items()}
    third = {name: score(2)[name] for name in ("id", "name", "source", "timestamp", "comment")}
    page = [{**third, "dataType": "CATEGORICAL", "value": "calm", "subject": {"kind": "observation", "id": "o9"}}]
    bucket = {"id": "s3", "timestamp": "2025-05-29 13:46:03.963000", "trace_id": "t1", "name": "helpful", "value": 1,
              "data_type": "NUMERIC", "string_value": None, "source": "API"}  # fmt: skip
    (tmp_path / "page.json").write_text(json.dumps({"data": page, "meta": {"limit": 50}}, indent=2))
    (tmp_path / "all.json").write_text(json.dumps([score(4), score(5)], indent=1))
    with gzip.open(tmp_path / "bucket.jsonl.gz", "wt") as packed:
        packed.write(json.dumps(bucket) + "\n")
    files = [
        write_csv(tmp_path / "pages.csv", [encoded]),
        *(tmp_path / n for n in ("page.json", "all.json", "bucket.jsonl.gz")),
    ]

    done = run(web, alice, "langfuse", *files, "--json")

    assert done.code == 0, done.err
    assert [row["shape"] for row in done.json["files"]] == ["scores"] * 4
    assert verdicts(alice) == {
        "helpful-0": (0.1, None, None),
        "helpful-1": (None, None, "calm"),
        "helpful-2": (1.0, None, None),
        "helpful-3": (0.4, None, None),
        "helpful-4": (0.5, None, None),
    }


def test_items_become_datasets_that_a_second_run_does_not_double(
    web: str, alice: Caller, charlie: Caller, tmp_path: Path
) -> None:
    item = {"id": "i1", "status": "ACTIVE", "input": {"q": "1+1"}, "expectedOutput": 2, "metadata": {"k": "v"},
            "sourceTraceId": "t1", "datasetId": "d1", "datasetName": "sums", "createdAt": at(1)}  # fmt: skip
    items = [
        item,
        item | {"id": "i2", "metadata": None, "sourceTraceId": None},
        item | {"id": "i3", "status": "ARCHIVED"},
    ]
    file = write_lines(tmp_path / "items.jsonl", items)

    first, second = (run(web, alice, "langfuse", file, "--json").json for _ in range(2))

    assert datasets(alice)["sums"] == [
        {"id": "i1", "input": {"q": "1+1"}, "expected": 2, "metadata": {"k": "v", "source_trace_id": "t1"}},
        {"id": "i2", "input": {"q": "1+1"}, "expected": 2},
    ]
    assert [(one["version"], one["created"]) for run in (first, second) for one in run["datasets"]] == [
        (1, True),
        (1, False),
    ]
    assert first["beside"] == {"archived items": 1}
    assert datasets(charlie) == {}


def test_a_type_that_nobody_knows_is_told_by_line_and_field(web: str, alice: Caller, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "scores.jsonl", [score(1), score(2, dataType="RANGE")])

    done = run(web, alice, "langfuse", file)

    assert done.code == 2
    assert "scores.jsonl, line 2, field dataType: The type 'RANGE' is not known." in done.err
    assert results(alice) == []


def test_traces_alone_say_what_is_missing(web: str, alice: Caller, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "traces.jsonl", [{"id": "t1", "timestamp": at(1), "input": "a", "output": "b"}])

    done = run(web, alice, "langfuse", file)

    assert (done.code, "name the file with the scores as well" in done.err) == (2, True)


def test_scores_within_a_trace_come_with_it(web: str, alice: Caller, tmp_path: Path) -> None:
    trace = {
        "id": "t7",
        "timestamp": at(1),
        "input": "a",
        "output": "b",
        "scores": [score(1, traceId="t7"), "id-of-one"],
    }

    assert run(web, alice, "langfuse", write_lines(tmp_path / "traces.jsonl", [trace])).code == 0
    (row,) = results(alice)
    assert (row["score_raw"], row["evaluated_model_input"]) == (0.1, "a")
