"""`evalsvc import phoenix`, with files as arize-phoenix 20.26.1 and arize-phoenix-client 3.5.0 write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.caller import Caller
from tests.cli.exported import annotation, at
from tests.cli.importing import datasets, results, run, verdicts, write_csv, write_lines


def span(id: str = "sp1", **fields: Any) -> dict[str, Any]:
    """A span, as the API writes it."""
    return {
        "name": "chat", "context": {"trace_id": "t1", "span_id": id}, "span_kind": "RETRIEVER", "start_time": at(0),
        "end_time": at(1), "status_code": "OK", "attributes": {
            "input.value": "Capital?", "output.value": "Oslo.", "llm.model_name": "m-1",
            "retrieval.documents.0.document.content": "Oslo is a city.", "retrieval.documents.1.document.content": "So is Bergen.",
        },
    } | fields  # fmt: skip


def test_annotations_find_the_texts_of_their_spans(web: str, alice: Caller, charlie: Caller, tmp_path: Path) -> None:
    rows = [annotation(1), annotation(2, result={"label": "rude"}), annotation(3, result={"score": None})]
    (tmp_path / "notes.json").write_text(json.dumps({"data": rows, "next_cursor": None}))
    spans = write_lines(tmp_path / "spans.jsonl", [span(), span("sp2")])

    done = run(web, alice, "phoenix", tmp_path / "notes.json", spans, "--json")

    assert done.code == 0, done.err
    assert verdicts(alice) == {"toxicity-0": (0.1, None, "calm"), "toxicity-1": (None, None, "rude")}
    assert (done.json["without_score"], done.json["kept"]) == (1, 2)
    first = results(alice)[0]
    assert (first["evaluated_model_input"], first["evaluated_model_output"]) == ("Capital?", "Oslo.")
    assert first["evaluated_model_retrieved_context"] == ["Oslo is a city.", "So is Bergen."]
    assert first["explanation"] == "because 1"
    assert results(charlie) == []


def test_a_data_frame_of_annotations_is_the_same(web: str, alice: Caller, tmp_path: Path) -> None:
    """The client flattens the result, and calls the name otherwise."""
    flat = {f"result.{name}": value for name, value in annotation(1)["result"].items()}
    row = {name: value for name, value in annotation(1).items() if name not in ("result", "name")}
    file = write_csv(tmp_path / "frame.csv", [row | flat | {"annotation_name": "toxicity"}])

    assert run(web, alice, "phoenix", file).code == 0
    assert run(web, alice, "phoenix", write_lines(tmp_path / "lines.jsonl", [annotation(1)])).code == 0
    assert verdicts(alice) == {"toxicity-0": (0.1, None, "calm")}


def test_evaluations_are_named_as_their_file(web: str, alice: Caller, tmp_path: Path) -> None:
    rows = [{"context.span_id": f"sp{n}", "score": score, "label": label, "explanation": ""}
            for n, (score, label) in enumerate([(1, "relevant"), ("", "unknown"), ("", ""), (0.0, "")])]  # fmt: skip
    documents = [{"context.span_id": "sp1", "document_position": n, "score": n} for n in range(2)]
    files = [write_csv(tmp_path / "relevance.csv", rows), write_csv(tmp_path / "documents.csv", documents)]

    done = run(web, alice, "phoenix", *files, "--json")

    assert done.json["without_score"] == 1
    found = sorted(
        (row["evaluator_id"], row["score_raw"], row["text_output"])
        for row in results(alice)
        if row["score_raw"] is not None
    )
    assert found == [
        ("external:documents", 0.0, None),
        ("external:documents", 1.0, None),
        ("external:relevance", 0.0, None),
        ("external:relevance", 1.0, "relevant"),
    ]
    assert [row["text_output"] for row in results(alice) if row["score_raw"] is None] == ["unknown"]


def test_columns_of_evaluations_beside_spans_come_with_their_texts(web: str, alice: Caller, tmp_path: Path) -> None:
    row = {
        "context.span_id": "sp1", "context.trace_id": "t1", "name": "chat", "span_kind": "LLM", "start_time": at(0),
        "attributes.input.value": "Hi", "attributes.output.value": "Hello",
        "attributes.retrieval.documents": [{"document.content": "one"}, {"document": {"content": "two"}}],
        "eval.Q&A Correctness.score": 1, "eval.Q&A Correctness.label": "correct", "eval.Tone.score": "",
    }  # fmt: skip

    done = run(web, alice, "phoenix", write_csv(tmp_path / "spans.csv", [row]), "--json")

    assert (done.json["kept"], done.json["without_score"]) == (1, 1)
    (found,) = results(alice)
    assert (found["evaluator_id"], found["score_raw"], found["text_output"]) == (
        "external:Q&A Correctness",
        1.0,
        "correct",
    )
    assert (found["evaluated_model_input"], found["evaluated_model_retrieved_context"]) == ("Hi", ["one", "two"])


def test_runs_of_an_experiment_come_as_json_and_as_csv(web: str, alice: Caller, bob: Caller, tmp_path: Path) -> None:
    base = {"example_id": "RXhhbXBsZTox", "repetition_number": 1, "output": "Oslo", "error": None, "latency_ms": 5.0,
            "start_time": at(1), "end_time": at(2), "trace_id": "t9"}  # fmt: skip
    note: dict[str, Any] = {"name": "exact", "annotator_kind": "CODE", "label": None, "score": 1.0, "explanation": None, "error": None,
            "metadata": {}, "start_time": at(3), "end_time": at(4), "trace_id": None}  # fmt: skip
    one = base | {"input": {"q": "Capital?"}, "reference_output": {"a": "Oslo"}, "annotations": [note]}
    (tmp_path / "first.json").write_text(json.dumps([one], indent=2))
    wide = {f"annotation_exact_{name}": value for name, value in note.items() if name != "name"}
    row = base | {
        "input": {"q": "Capital?"},
        "reference_output": {"a": "Oslo"},
        "metadata": {},
        "start_time": at(7),
    }
    files = [
        tmp_path / "first.json",
        write_csv(tmp_path / "second.csv", [row | wide | {"annotation_exact_score": 0.0}]),
    ]

    assert run(web, alice, "phoenix", *files).code == 0
    found = results(bob)
    assert sorted(row["score_raw"] for row in found) == [0.0, 1.0]
    assert {row["evaluated_model_gold_answer"] for row in found} == {'{"a": "Oslo"}'}
    kept = alice.post("/v1/evaluations/search", {"trace_id": "t9"}).json()["evaluations"]
    assert [row["metadata"]["example_id"] for row in kept] == ["RXhhbXBsZTox"] * 2


def test_a_dataset_is_the_same_as_lines_and_as_csv(web: str, alice: Caller, tmp_path: Path) -> None:
    """The pages export both: nested objects, or a column for each key."""
    lines = [{"id": "e1", "node_id": "RA==", "input": {"q": "1+1", "n": {"k": "v"}}, "output": {"a": "two"},
              "metadata": {"topic": "sums"}, "splits": ["test"]}]  # fmt: skip
    row = {"id": "e1", "node_id": "RA==", "input.q": "1+1", "input.n.k": "v", "output.a": "two",
           "metadata.topic": "sums", "splits": '["test"]'}  # fmt: skip
    whole = {"id": "D1", "name": "named", "examples": [lines[0] | {"updated_at": at(1)}]}
    (tmp_path / "whole.json").write_text(json.dumps(whole))
    files = [
        write_lines(tmp_path / "sums.jsonl", lines),
        write_csv(tmp_path / "table.csv", [row]),
        tmp_path / "whole.json",
    ]

    assert run(web, alice, "phoenix", *files).code == 0
    found = datasets(alice)
    expected = {"id": "e1", "input": {"q": "1+1", "n": {"k": "v"}}, "expected": {"a": "two"},
                "metadata": {"topic": "sums", "splits": ["test"]}}  # fmt: skip
    assert found["sums"] == found["named"] == [expected]
    assert found["table"] == [expected | {"input": {"q": "1+1", "n.k": "v"}}]


def test_a_kind_of_annotator_that_nobody_knows_is_told(web: str, alice: Caller, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "notes.jsonl", [annotation(1), annotation(2, annotator_kind="ORACLE")])

    done = run(web, alice, "phoenix", file)

    assert (done.code, results(alice)) == (2, [])
    assert "notes.jsonl, line 2, field annotator_kind: The kind 'ORACLE' is not known." in done.err
