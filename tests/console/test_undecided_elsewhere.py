"""Scores without a verdict, made elsewhere or by the service, on each page that shows verdicts side by side."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.models import Evaluation
from tests.caller import Caller
from tests.console.conftest import Visitor
from tests.console.evaluations import kept
from tests.factories import make_profile, ok
from tests.rules.shapes import answered, new_rule, run, send
from tests.telemetry.otlp import new_id, span, traces

ROWS: dict[str, dict[str, Any]] = {
    "score": {"score": 0.5},
    "told": {"text_output": "fine"},
    "undecided": {"score": 0.5, "verdict": "undecided", "why": "language"},
}
WORDS = {"score": "scored", "told": "told in words", "undecided": "undecided"}


@pytest.mark.parametrize("name", ROWS)
def test_pages_of_evaluations_and_traces_show_it(alice: Caller, reader: Visitor, name: str) -> None:
    trace = new_id()
    assert alice.post("/v1/traces", traces(span(trace))).json() == {}
    row = {"evaluator_id": "tone", "log_id": "log-1", "trace_id": trace, **ROWS[name]}
    assert ok(alice.post("/v1/evaluations/batch", {"evaluations": [row]}))["errors"] == []
    (other,) = kept(alice, "exact-match", output="a", gold_answer="a", log_id="log-1")

    pages = [reader.text("evaluations"), reader.text(f"traces/{trace}"), reader.text(f"evaluations/{other}")]

    outcome = "undecided" if name == "undecided" else "score"
    for page in pages:
        assert f'class="verdict {outcome}"' in page and f"> {WORDS[name]} <" in page


def test_undecided_ones_are_found(alice: Caller, reader: Visitor) -> None:
    rows = [{"evaluator_id": f"my-{name}", "log_id": "log-1", **row} for name, row in ROWS.items()]
    assert ok(alice.post("/v1/evaluations/batch", {"evaluations": rows}))["errors"] == []
    found = reader.text("evaluations", result="undecided")
    assert found.count('class="verdict undecided"') == 1 and 'class="verdict score"' not in found
    filters = [{"field": "why", "value": "language"}]
    (row,) = ok(alice.post("/v1/evaluations/search", {"filters": filters}))["evaluations"]
    assert row["evaluator_id"] == "external:my-undecided"


@pytest.mark.parametrize(("extra", "outcome"), [(None, "score"), ({"undecided": "language"}, "undecided")])
def test_pages_show_a_score_of_the_service_without_a_verdict(
    alice: Caller, reader: Visitor, extra: Any, outcome: str
) -> None:
    profile = make_profile(alice, "metrics", metric="bleu")
    evaluators = [{"evaluator": "metrics", "criteria": profile["name"]}]
    rule = new_rule(alice, evaluators=evaluators, mapping={"gold_answer": "/attributes/gold"})
    sent = answered("a b", gold="a c")
    send(alice, sent)
    run(alice, rule)
    rows = Evaluation.objects.using("system").filter(account_id=alice.account.pk)
    assert list(rows.values_list("status", "passed")) == [("success", None)]
    rows.update(extra=extra)

    for path in (f"rules/{rule['id']}", "evaluations", f"traces/{sent['traceId']}"):
        assert f'class="verdict {outcome}"' in reader.text(path)
