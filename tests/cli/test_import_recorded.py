"""Files as the clients of other products hand them back, recorded from their packages: the same scores in every form.

The programs in `recorders` wrote them; `test_import_peers.py` runs them again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.caller import Caller
from tests.cli.importing import Ran, results, run

RECORDED = Path(__file__).parent / "recorded"
LANGFUSE_WAYS = ("model_dump", "by_alias", "dict", "json", "model_dump_json")
LANGFUSE = {
    ("helpful", 0.5, None, None, "t1", "Capital of Norway?", "Oslo."),
    ("polite", 0.0, False, None, "t1", "Say it", "Oslo"),
    ("tone", None, None, "calm", "t1", "Capital of Norway?", "Oslo."),
    ("note", None, None, "see above", None, None, None),
}
CONTEXTS = ["Oslo is a city's name.", 'So is "Bergen".']
PHOENIX = {("calm", 0.1, "t1", "Capital?"), (None, 1.0, "t1", "Say it"), ("rude", None, "t1", "Capital?")}


def find_traces(caller: Caller) -> dict[str, Any]:
    """Return the trace of each evaluation."""
    rows = caller.post("/v1/evaluations/search", {"limit": 1000}).json()["evaluations"]
    return {row["id"]: row["trace_id"] for row in rows}


def succeed(done: Ran) -> Any:
    assert done.code == 0, done.err
    return done.json


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
@pytest.mark.parametrize("way", LANGFUSE_WAYS)
def test_langfuse_hands_back_the_same_scores(way: str, ending: str, web: str, alice: Caller) -> None:
    """Scores of a trace have the texts of its root observation, since the client of Langfuse 5 reads no traces."""
    files = [RECORDED / "langfuse" / f"{way}.{name}.{ending}" for name in ("scores", "observations")]

    done = succeed(run(web, alice, "langfuse", *files, "--json"))

    traces = find_traces(alice)
    assert {
        (row["evaluator_id"].removeprefix("external:"), row["score_raw"], row["pass"], row["text_output"],
         traces[row["id"]], row["evaluated_model_input"], row["evaluated_model_output"])
        for row in results(alice)
    } == LANGFUSE  # fmt: skip
    assert done["unjoined"] == {"scores without texts": 1}


@pytest.mark.parametrize("spans", ["spans.csv", "spans.reset.csv", "spans.reset.json", "spans.reset.jsonl"])
@pytest.mark.parametrize(
    "notes", ["annotations.csv", "annotations.reset.json", "annotations.reset.jsonl", "annotations.listed.json"]
)
def test_phoenix_hands_back_the_same_annotations(spans: str, notes: str, web: str, alice: Caller) -> None:
    files = [RECORDED / "phoenix" / name for name in (notes, spans)]

    done = succeed(run(web, alice, "phoenix", *files, "--json"))

    traces, found = find_traces(alice), results(alice)
    assert {
        (row["text_output"], row["score_raw"], traces[row["id"]], row["evaluated_model_input"]) for row in found
    } == PHOENIX
    contexts = [row["evaluated_model_retrieved_context"] for row in found if row["evaluated_model_input"] == "Capital?"]
    assert contexts == [CONTEXTS, CONTEXTS]
    assert done["unjoined"] == {}


def test_annotations_without_their_index_come_without_texts(web: str, alice: Caller) -> None:
    """Release 0.4 refused all of them."""
    files = [RECORDED / "phoenix" / name for name in ("annotations.json", "spans.csv")]

    done = succeed(run(web, alice, "phoenix", *files, "--json"))

    assert {(row["text_output"], row["score_raw"]) for row in results(alice)} == {row[:2] for row in PHOENIX}
    lost = "annotations without their span: write the frame with reset_index()"
    assert done["unjoined"] == {lost: 3, "scores without texts": 3}


def test_spans_without_their_index_are_refused_by_name(web: str, alice: Caller) -> None:
    files = [RECORDED / "phoenix" / name for name in ("annotations.csv", "spans.json")]

    done = run(web, alice, "phoenix", *files)

    assert (done.code, results(alice)) == (2, [])
    assert "spans.json, line 1, field span_id: It is missing: where it is the index of a data frame" in done.err


@pytest.mark.parametrize("name", ["evaluated.csv", "evaluated.indexed.csv", "evaluated.json", "evaluated.alone.jsonl"])
def test_phoenix_evals_is_read_and_its_errors_are_no_scores(name: str, web: str, alice: Caller) -> None:
    first = succeed(run(web, alice, "phoenix", RECORDED / "phoenix" / name, "--json"))
    second = succeed(run(web, alice, "phoenix", RECORDED / "phoenix" / name, "--json"))

    assert (first["new"], first["without_score"], second["new"]) == (4, 2, 0)
    found = sorted(
        (row["evaluator_id"], row["evaluated_model_output"], row["score_raw"], row["text_output"])
        for row in results(alice)
    )
    assert found == [
        ("external:correctness", "Bergen", 0.0, None),
        ("external:correctness", "Oslo", 1.0, None),
        ("external:tone", "Bergen", 1.0, "calm"),
        ("external:tone", "Oslo", 1.0, "calm"),
    ]
    assert {row["evaluated_model_input"] for row in results(alice)} == {"Capital?"}


def test_every_form_of_one_frame_counts_once(web: str, alice: Caller) -> None:
    for name in ("evaluated.csv", "evaluated.json"):
        done = succeed(run(web, alice, "phoenix", RECORDED / "phoenix" / name, "--json"))

    assert (done["kept"], done["new"]) == (4, 0), json.dumps(done)
