"""`evalsvc import scores`: files that evaluation frameworks wrote are recognised by content, and an error is no score."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.caller import Caller
from tests.cli.importing import Ran, datasets, results, run, write_csv, write_lines

RECORDED = Path(__file__).parent / "recorded"
PROMPTFOO = {("names-it", 1.0): 3, ("names-it", 0.0): 1, ("icontains", 1.0): 2, ("promptfoo", 1.0): 2}
GRADED = {("correct", 1.0): 1, ("correct", 0.0): 1, ("tone", None): 2}
INSPECT = {
    ("match", 1.0): 1, ("match", 0.0): 2, ("length", 4.0): 1, ("length", 11.0): 1, ("style.polite", 0.5): 3,
    ("style.short", 1.0): 3,
}  # fmt: skip
MLFLOW = {("exact", 1.0): 1, ("exact", 0.0): 1, ("size", 4.0): 1, ("size", 5.0): 1}
EXACT = {("exact", 1.0): 1, ("exact", 0.0): 1}
DEEPEVAL = {("Exact Match", 1.0): 1, ("Exact Match", 0.0): 1}
RAGAS = {("exact_match", 1.0): 1, ("exact_match", 0.0): 1, ("non_llm_string_similarity", 1.0): 1}
FOUND: dict[str, tuple[dict[tuple[str, float | None], int], int]] = {
    **{f"inspect/log.{ending}": (INSPECT, 0) for ending in ("eval", "json")},
    **{f"promptfoo/results.{ending}": (PROMPTFOO, 4) for ending in ("json", "jsonl")},
    "promptfoo/results.csv": ({("names-it", 1.0): 3, ("promptfoo", 1.0): 2}, 7),
    "lm_eval/samples_capitals.jsonl": ({("acc", 1.0): 2, ("acc_norm", 1.0): 2}, 0),
    **{f"ragas/results.{form}": (RAGAS, 1) for form in ("csv", "indexed.csv", "json", "jsonl")},
    **{f"deepeval/{name}.json": (DEEPEVAL, 2) for name in ("result", "result.alias", "test_run")},
    **{
        f"langsmith/{name}": (GRADED, 2) for name in ("results.csv", "results.alone.csv", "results.jsonl", "rows.jsonl")
    },
    **{f"braintrust/results.{ending}": (EXACT, 4) for ending in ("json", "jsonl")},
    **{f"mlflow/{name}": (MLFLOW, 2) for name in ("genai.csv", "genai.json", "genai.jsonl", "traces.jsonl")},
    **{f"mlflow/eval_results_table.{ending}": ({("same", 1.0): 1, ("same", 0.0): 1}, 0) for ending in ("csv", "json")},
    **{f"opik/{name}": ({("equals", 1.0): 1}, 1) for name in ("result.json", "results.jsonl")},
    **{f"opik/{name}": ({("helpful", 0.5): 1, ("tone", 1.0): 1}, 0) for name in ("trace_t1.json", "traces.jsonl")},
}
"""Of each recorded file: its scores with their number, and how many evaluations have none, as those that broke."""


def succeed(done: Ran) -> Any:
    assert done.code == 0, done.err
    return done.json


def count(caller: Caller) -> dict[tuple[str, float | None], int]:
    found: dict[tuple[str, float | None], int] = {}
    for row in results(caller):
        key = (row["evaluator_id"].removeprefix("external:"), row["score_raw"])
        found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize("name", FOUND)
def test_what_a_framework_wrote_comes_in_once(name: str, web: str, alice: Caller, charlie: Caller) -> None:
    scores, n_without = FOUND[name]

    first, second = (succeed(run(web, alice, "scores", RECORDED / name, "--json")) for _ in range(2))

    assert count(alice) == scores
    assert first["without_score"] == n_without
    assert (first["new"], second["new"]) == (sum(scores.values()), 0)
    assert first["unjoined"] == {}
    source = name.partition("/")[0].replace("_", "-")
    assert {row["tags"]["source"] for row in results(alice)} == {source}
    assert results(charlie) == []


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_goldens_become_a_dataset(form: str, web: str, alice: Caller) -> None:
    succeed(run(web, alice, "scores", RECORDED / "deepeval" / f"goldens.{form}", "--json"))

    first, second = datasets(alice)["goldens"]
    assert (first["input"], first["expected"], first["contexts"]) == ("Capital of Norway?", "Oslo", ["Oslo is a city."])
    assert (first["metadata"], second["expected"]) == ({"topic": "north"}, "Rome")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_dataset_of_ragas_becomes_a_dataset(form: str, web: str, alice: Caller) -> None:
    succeed(run(web, alice, "scores", RECORDED / "ragas" / f"dataset.{form}", "--json"))

    first, _ = datasets(alice)["dataset"]
    assert first["contexts"] == ["Oslo is a city.", "It's north."]
    assert first["expected"] == "Oslo"


def test_examples_of_langsmith_keep_their_ids(web: str, alice: Caller) -> None:
    succeed(run(web, alice, "scores", RECORDED / "langsmith" / "examples.jsonl", "--json"))

    ids = [row["id"] for row in datasets(alice)["examples"]]
    assert ids == ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"]


def test_spans_of_otlp_bring_their_evaluations(web: str, alice: Caller, tmp_path: Path) -> None:
    def attributes(**values: Any) -> list[dict[str, Any]]:
        return [{"key": key.replace("_", "."), "value": value} for key, value in values.items()]

    event = {
        "timeUnixNano": "1761991200000000000", "name": "gen_ai.evaluation.result",
        "attributes": [
            {"key": "gen_ai.evaluation.name", "value": {"stringValue": "helpful"}},
            {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.5}},
            {"key": "gen_ai.evaluation.score.label", "value": {"stringValue": "fair"}},
        ],
    }  # fmt: skip
    texts = attributes(input_value={"stringValue": "Capital?"}, output_value={"stringValue": "Oslo"})
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "attributes": texts, "events": [event, {"name": "log"}]}
    label = {"key": "gen_ai.evaluation.score.label", "value": {"stringValue": "pass"}}
    passed = {
        "timeUnixNano": "1761991201000000000",
        "name": "gen_ai.evaluation.result",
        "attributes": [event["attributes"][0], label],
    }
    error = {"key": "error.type", "value": {"stringValue": "timeout"}}
    failed = {
        "timeUnixNano": "1761991202000000000",
        "name": "gen_ai.evaluation.result",
        "attributes": [*event["attributes"], error],
    }
    doubt = {"key": "gen_ai.evaluation.score.label", "value": {"stringValue": "undecided"}}
    undecided = event | {
        "timeUnixNano": "1761991190000000000",
        "attributes": [*event["attributes"][:2], doubt],
    }
    span["events"] = [event, {"name": "log"}, passed, failed, undecided]
    lines = [{"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}]

    succeed(run(web, alice, "scores", write_lines(tmp_path / "spans.jsonl", lines), "--json"))

    safe, row, unsure = sorted(results(alice), key=lambda result: result["created_at"], reverse=True)
    assert (unsure["score_raw"], unsure["pass"], unsure["verdict"]) == (0.5, None, "undecided")
    assert (safe["score_raw"], safe["pass"], safe["text_output"]) == (1.0, True, "pass")
    assert (row["score_raw"], row["text_output"], row["evaluated_model_output"]) == (0.5, "fair", "Oslo")
    assert row["created_at"].startswith("2025-11-01T10:00:00")


def test_columns_of_any_table_are_named(web: str, alice: Caller, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"question": "Capital?", "response": "Oslo", "docs": "['Oslo is a city.']", "faithfulness": 0.5, "ok": "True"},
        {"question": "And Italy?", "response": "Rome", "docs": "", "faithfulness": "", "ok": "False"},
    ]
    file = write_csv(tmp_path / "mine.csv", rows)
    options = [
        "--map", "input=question", "--map", "output=response", "--map", "contexts=docs", "--score",
        "faithful=faithfulness", "--score", "ok=ok",
    ]  # fmt: skip

    done = succeed(run(web, alice, "scores", file, *options, "--json"))

    assert count(alice) == {("faithful", 0.5): 1, ("ok", 1.0): 1, ("ok", 0.0): 1}
    assert done["without_score"] == 1
    assert [row["evaluated_model_retrieved_context"] for row in results(alice)][:1] == [["Oslo is a city."]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--score", "faithful=nothing"], "field nothing: There is no such column; there are a, b."),
        (["--score", "a"], "--score is written as NAME=COLUMN, and 'a' was given."),
        (["--map", "colour=a", "--score", "b=b"], "--map takes input, output,"),
        (["--map", "input=a"], "name at least one."),
        ([], "This is no file of an evaluation framework that is known."),
    ],
)
def test_columns_that_are_wrong_are_told(
    options: list[str], message: str, web: str, alice: Caller, tmp_path: Path
) -> None:
    done = run(web, alice, "scores", write_csv(tmp_path / "mine.csv", [{"a": 1, "b": 2}]), *options)

    assert (done.code, results(alice)) == (2, [])
    assert message in done.err


@pytest.mark.parametrize(("name", "field"), [("promptfoo/results.jsonl", "score"), ("opik/traces.jsonl", "value")])
def test_a_broken_row_near_the_end_leaves_nothing_behind(
    name: str, field: str, web: str, alice: Caller, tmp_path: Path
) -> None:
    (line, *_) = (RECORDED / name).read_text().splitlines()
    broken = json.loads(line)
    broken[field] = "high"
    for score in broken.get("feedback_scores", []):
        score[field] = "high"
    file = write_lines(
        tmp_path / "rows.jsonl", [*[{**json.loads(line), "id": f"r{n}"} for n in range(90)], broken, line]
    )

    done = run(web, alice, "scores", file)

    assert (done.code, results(alice)) == (2, [])
    assert f'rows.jsonl, line 91, field {field}: A number is expected, and "high" is found.' in done.err


def test_a_log_of_inspect_that_is_cut_is_refused(web: str, alice: Caller, tmp_path: Path) -> None:
    content = (RECORDED / "inspect" / "log.eval").read_bytes()
    (tmp_path / "cut.eval").write_bytes(content[:-200])
    with zipfile.ZipFile(RECORDED / "inspect" / "log.eval") as archive:
        start = archive.getinfo("samples/no_epoch_1.json").header_offset + 200
    broken = bytearray(content)
    broken[start : start + 60] = b"x" * 60
    (tmp_path / "broken.eval").write_bytes(broken)

    for name in ("cut.eval", "broken.eval"):
        done = run(web, alice, "scores", tmp_path / name)
        assert (done.code, f"{name}, line 1" in done.err) == (2, True), done.err
    assert results(alice) == []


def test_a_packed_log_without_a_reader_names_the_remedy(
    web: str, alice: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    real = importlib.import_module

    def without_readers(name: str, package: str | None = None) -> Any:
        if name in ("compression.zstd", "zstandard", "pyarrow"):
            raise ImportError(name)
        return real(name, package)

    monkeypatch.setattr("evalsvc.cli.imports.files.archives.importlib.import_module", without_readers)
    shutil.copy(RECORDED / "inspect" / "log.eval", tmp_path / "log.eval")

    done = run(web, alice, "scores", tmp_path / "log.eval")

    assert (done.code, "Install `zstandard` next to this command" in done.err) == (2, True)
