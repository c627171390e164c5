"""Undecided verdicts on pages: the sign, the count beside the pass rate, and its bounds."""

from __future__ import annotations

from tests.caller import Caller
from tests.console.conftest import Visitor
from tests.factories import ok

EVALUATOR = "retrieval-hallucination-2026-11-28"
CONTEXT = (
    "The harbour museum shows old fishing boats and nets from the coast, and children may build small ships in its"
    " workshop."
)
RIGHT = "The harbour museum shows old fishing boats and nets from the coast."
WRONG = "The harbour museum shows old fishing boats and 40 nets from the coast."
WEAK = "Families like the museum with its boats and the workshop for ships."
"""Two right answers, one wrong and one undecided: 2 of 3 pass, and with the undecided one 0.5 to 0.75."""


def keep(caller: Caller, *outputs: str) -> list[str]:
    samples = [{"task_output": output, "task_context": [CONTEXT]} for output in outputs]
    body = {"evaluators": [{"evaluator": EVALUATOR}], "app": "shop", "samples": samples}
    rows = ok(caller.post("/v1/evaluate/batch", body))["rows"]
    return [row["answer"]["results"][0]["evaluation_id"] for row in rows]


def test_pages_show_it_apart_from_passes_and_fails(alice: Caller, reader: Visitor) -> None:
    *_, undecided = keep(alice, RIGHT, RIGHT, WRONG, WEAK)

    page = reader.text(f"evaluations/{undecided}")
    found = reader.text("evaluations", result="undecided")
    history = reader.text("histories/one", evaluator=EVALUATOR, profile="patronus:detect-rag-hallucination")
    home = reader.text()

    assert "Undecided: nothing contradicts it, and what supports it is too weak to tell." in page
    assert (found.count('class="verdict undecided"'), found.count('class="verdict pass"')) == (1, 0)
    assert "1 undecided: with them, the pass rate is from 0.5 to 0.75." in history
    assert "1 undecided left out (with them 0.5 to 0.75)" in home


def test_home_counts_them_where_nothing_is_decided(alice: Caller, reader: Visitor) -> None:
    rows = [{"evaluator_id": "tone", "log_id": str(i), "score": 0.5, "verdict": "undecided"} for i in range(3)]
    ok(alice.post("/v1/evaluations/batch", {"evaluations": rows}))

    assert "no verdicts, 3 undecided; mean score 0.5, see its history" in reader.text()
    assert ok(alice.get("/v1/history?evaluator=external:tone"))["n_undecided"] == 3
