"""What the tests of these pages have in their account: evaluations of every outcome, with texts of strangers."""

from __future__ import annotations

import json
from typing import Any

from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.factories import make_profile, ok
from tests.telemetry.otlp import new_id, span, traces

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> \u202egnp.exe \u200b {{ 7|add:7 }} {% now 'Y' %} ' \" ]]>"
)
RAW = ("<script>alert", "<img src=x", "onerror=alert(2)>")
"""What no page may hold of it as it came."""


def kept(caller: Caller, *evaluators: str, app: str = "shop", **fields: Any) -> list[str]:
    """Evaluate and keep; return the ids of the evaluations."""
    results = ok(caller.evaluate(*evaluators, app=app, **fields))["results"]
    return [one["evaluation_id"] for one in results]


def hostile_evaluation(caller: Caller) -> str:
    """An evaluation with a stranger's text in every field that takes one."""
    (id,) = kept(
        caller,
        "pii",
        input=HOSTILE,
        output=f"{HOSTILE} bob@example.com",
        gold_answer=HOSTILE,
        system_prompt=HOSTILE,
        task_context=[HOSTILE, {"text": HOSTILE, "id": HOSTILE[:200]}],
        tags={HOSTILE[:50]: HOSTILE},
        log_id=HOSTILE[:100],
        trace_id=HOSTILE[:100],
    )
    return id


def is_harmless(page: str) -> bool:
    """Whether nothing of the stranger's text stands in a page as markup or turned around, nor was run as a template."""
    return not any(raw in page for raw in RAW) and "\u202e" not in page and " 14 " not in page


def judged(caller: Caller) -> dict[str, Any]:
    """An account whose evaluations, profile and trace fill these pages, strangers' texts among them."""
    trace, top = new_id(), new_id(8)
    spans = traces(span(trace, spanId=top), span(trace, parentSpanId=top, status={"code": 2, "message": HOSTILE}))
    ok(caller.post("/v1/traces", raw=json.dumps(spans)))
    hostile_evaluation(caller)
    contexts = ["The Eiffel Tower is 330 metres tall. It stands in Paris.", "Bananas are yellow."]
    output = "The Eiffel Tower is 330 metres tall. It was built in 1901, says bob@example.com."
    sample: dict[str, Any] = {
        "input": "How tall is the Eiffel Tower?",
        "output": output,
        "task_context": contexts,
        "trace_id": trace,
    }
    ids = kept(caller, "retrieval-hallucination", "pii", "exact-match", span_id=top, log_id="log-1", **sample)
    made = make_profile(caller, "judge", "polite", pass_criteria="It is polite.")
    config = {"pass_criteria": "It is polite and short.", "pass_threshold": 0.7}
    ok(caller.post(f"/v1/evaluator-criteria/{made['public_id']}/revision", {"config": config}))
    new_criteria(caller, name="Is it right?")
    new_criteria(caller, "categorical", name="Tone", resource_types=["evaluation"])
    return {"evaluation": ids[0], "profile": made["public_id"], "trace": trace}
