"""Sixty texts in ten languages through the API: what an evaluator cannot read has no score, and nobody a silent pass."""

from __future__ import annotations

from typing import Any

import pytest

from tests.caller import Caller
from tests.evaluations.bulk.shapes import BATCH, rows_of
from tests.evaluators.language_examples import PERSONAL, PROBES, Probe

pytestmark = pytest.mark.usefixtures("worker")
REFUSED = ("validation_error", "unsupported_language", None)
PASSED, FAILED = ("success", None, True), ("success", None, False)


def samples_of(probe: Probe) -> list[tuple[dict[str, Any], tuple[str, str | None, bool | None]]]:
    """Six texts of a language, each with what its evaluator must say."""
    asked = {"input": probe.question, "context": [probe.right]}
    return [
        (sample("toxicity", output=probe.abuse), REFUSED),
        (sample("phi", output=probe.health), REFUSED),
        (sample("answer-relevance", input=probe.question, output=probe.refusal), FAILED),
        (sample("pii", output=PERSONAL[probe.language]), FAILED),
        (sample("hallucination", output=probe.right, **asked), PASSED),
        (sample("hallucination", output=probe.wrong, **asked), FAILED),
    ]


def sample(evaluator: str, **fields: Any) -> dict[str, Any]:
    inputs = {f"evaluated_model_{name.replace('context', 'retrieved_context')}": text for name, text in fields.items()}
    return {"evaluators": [{"evaluator": evaluator}], **inputs}


def said(row: dict[str, Any]) -> tuple[str, str | None, bool | None]:
    result = row["answer"]["results"][0]
    verdict = result["evaluation_result"] or {}
    return result["status"], result["error_code"], verdict.get("pass")


def test_no_probe_passes_in_silence(alice: Caller, charlie: Caller) -> None:
    wanted = [one for probe in PROBES for one in samples_of(probe)]
    body = {"capture": "all", "samples": [asked for asked, _ in wanted]}

    rows = rows_of(alice.post(BATCH, body, Prefer="wait=60"))

    assert len(rows) == 60
    assert [said(row) for row in rows] == [outcome for _, outcome in wanted]
    # A refusal is no score: histories have none of it.
    history = alice.get("/v1/history?evaluator=phi&profile=detect-protected-health-information").json()
    assert history["n"] == 0
    assert charlie.get(f"/v1/evaluate/{rows[0]['answer']['id']}").status_code == 404
