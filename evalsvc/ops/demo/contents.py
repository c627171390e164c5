"""Contents of the demo account besides its two weeks of history: experiments with results, a failing judge, traces.

The texts are written for the demo (`texts.json`). The service computes all of their scores: the calls below are API
calls, and nothing is written directly to the database.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from evalsvc.ops.demo.calls import DemoCalls

TEXTS = Path(__file__).with_name("texts.json")
APP, DATASET, PROJECT = "help", "Demo: questions to support", "Demo"
BEST, CHEAPEST = "in steps · large", "short · small"
METRICS = [
    {"name": "right", "evaluator": "exact-match-contains"},
    {"name": "no personal data", "evaluator": "pii"},
    {"name": "latency_ms", "source": "latency_ms", "higher_is_better": False},
    {"name": "cost", "source": "cost", "higher_is_better": False},
]
NOWHERE = "http://127.0.0.1:9"
"""An address of this machine that refuses every connection."""
N_REVIEWED = 24
ANSWERED = {"ana": 18, "ben": 12}
"""How many items the two reviewers have answered so far; each item asks for two people."""
N_FAILURES, N_TRACES = 3, 4


def fill_demo(calls: DemoCalls, began_at: datetime) -> None:
    """Make all of it. Begun again after it broke off, it goes on where it was."""
    texts = json.loads(TEXTS.read_text(encoding="utf-8"))
    dataset = calls.post("/v1/datasets", {"dataset_name": DATASET, "examples": texts["examples"]})["dataset_id"]
    finished = _experiment(calls, "Demo: which prompt answers support?", dataset, texts["configs"])
    for config in finished["configs"]:
        _answer(calls, finished["id"], config, texts)
    _decide(calls, finished["id"])
    _review(calls, finished["id"])
    running = _experiment(calls, "Demo: is the large model worth it?", dataset, texts["configs"][1::2])
    for config in running["configs"]:
        _answer(calls, running["id"], config, texts, n_units=1)
    _trace(calls, texts, began_at)
    _fail(calls, texts["examples"])
    _create_failing_webhook(calls)


def _experiment(calls: DemoCalls, name: str, dataset: str, configs: Sequence[Mapping[str, Any]]) -> Any:
    config_bodies = [{"name": config["name"], "kind": "push", "parameters": config["parameters"]} for config in configs]
    plan = {"dataset_id": dataset, "metrics": METRICS, "num_shards": 5, "promote": False, "start": True}
    return calls.post("/v1/experiments", {"name": name, "plan": plan, "configs": config_bodies})["experiment"]


def _answer(calls: DemoCalls, id: str, config: Mapping[str, Any], texts: Any, n_units: int | None = None) -> None:
    """Push the stored answers of a config, unit by unit, until no unit remains or `n_units` are answered."""
    (stored_answers,) = [entry["answers"] for entry in texts["configs"] if entry["name"] == config["name"]]
    answers = {example["id"]: answer for example, answer in zip(texts["examples"], stored_answers, strict=True)}
    path = f"/v1/experiments/{id}"
    while n_units != 0 and (unit := calls.post(f"{path}/configs/{config['id']}/lease", {})["unit"]):
        outputs = [_output(example, answers[example["id"]]) for example in unit["examples"]]
        calls.post(f"{path}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": outputs})
        n_units = None if n_units is None else n_units - 1


def _output(example: Mapping[str, Any], answer: Sequence[Any]) -> dict[str, Any]:
    text, latency_ms, cost = answer
    return {"pos": example["pos"], "output": text, "latency_ms": latency_ms, "cost": cost}


def _decide(calls: DemoCalls, id: str) -> None:
    """Rank the configs; run a gate on the best, which passes, and one on the cheapest."""
    calls.post("/v1/comparisons", {"name": "Demo: prompts", "experiment_id": id, "judge": {"metric": "right"}})
    baseline = {"experiment_id": id, "config": CHEAPEST}
    best, cheapest = {"experiment_id": id, "config": BEST}, baseline
    better = [{"metric": "right", "better_by": 0}, {"metric": "right", "at_least": 0.7}]
    calls.post("/v1/gates", {"name": "Demo: best prompt", "candidate": best, "baseline": baseline, "rules": better})
    enough = [{"metric": "right", "at_least": 0.85}]
    calls.post("/v1/gates", {"name": "Demo: cheapest prompt", "candidate": cheapest, "rules": enough})


def _review(calls: DemoCalls, id: str) -> None:
    """Let two people have answered some of a review."""
    project = calls.post("/v1/projects", {"name": PROJECT})["id"]
    question = {"project_id": project, "name": "Would this help the customer?", "annotation_type": "binary"}
    criteria = calls.post("/v1/annotation-criteria", question)["annotation_criteria"]["id"]
    items = {"outputs": {"experiment_id": id, "configs": [CHEAPEST, BEST]}}
    sample = {"method": "random", "n": N_REVIEWED}
    body = {"name": "Demo: is it helpful?", "criteria": [criteria], "items": items, "sample": sample, "seed": 7}
    review = calls.post("/v1/reviews", {**body, "n_answers": len(ANSWERED)})["review"]["id"]
    for reviewer, n_answered in ANSWERED.items():
        for _ in range(n_answered):
            _answer_review_item(calls, review, reviewer, criteria)


def _answer_review_item(calls: DemoCalls, review: str, reviewer: str, criteria: str) -> None:
    """Answer the next item: Ana checks for correctness, Ben also requires a full sentence."""
    lease = calls.post(f"/v1/reviews/{review}/lease", {"reviewer": reviewer})["lease"]
    text = lease["outputs"][0]["text"]
    is_helpful = lease["expected"].casefold() in text.casefold() and (reviewer == "ana" or len(text.split()) > 3)
    response = {"lease_token": lease["lease_token"], "answers": [{"criteria": criteria, "value_pass": is_helpful}]}
    calls.post(f"/v1/reviews/{review}/items/{lease['item_id']}/answers", response)


def _trace(calls: DemoCalls, texts: Mapping[str, Any], began_at: datetime) -> None:
    """Store traces of some answered questions, and scores on the spans that answered them."""
    answers = texts["configs"][1]["answers"]
    for i, (example, (output, *_)) in enumerate(zip(texts["examples"][:N_TRACES], answers, strict=False)):
        at = began_at - timedelta(minutes=7 * (N_TRACES - i))
        trace, top = _hex(f"trace {i}", 32), _hex(f"top {i}", 16)
        calls.post("/v1/traces", _spans(trace, top, example["input"], output, at, is_broken=i == N_TRACES - 1))
        sample = {"input": example["input"], "output": output, "gold_answer": example["expected"]}
        sample |= {"contexts": example["contexts"]}
        evaluators = [{"evaluator": name} for name in ("retrieval-hallucination", "exact-match-contains", "pii")]
        where = {"app": APP, "trace_id": trace, "span_id": top, "log_id": f"demo-{i}"}
        calls.post("/v1/evaluate", {"evaluators": evaluators, **sample, **where})


def _spans(trace: str, top: str, asked: str, answer: str, at: datetime, is_broken: bool) -> dict[str, Any]:
    """Return an export: a question, the search for pages, and the model that answered, in one trace the second time."""
    usage = {"gen_ai.request.model": "small-1", "gen_ai.usage.input_tokens": 412, "gen_ai.usage.output_tokens": 38}
    texts = {"input.value": asked, "output.value": answer}
    spans = [
        _span(trace, top, "answer a question", at, (0, 900), texts),
        _span(trace, _hex(trace + "search", 16), "search help pages", at, (20, 160), {"top_k": 3}, parent=top),
        _span(trace, _hex(trace + "chat", 16), "chat small-1", at, (400, 870), usage, parent=top),
    ]
    if is_broken:
        failed = _span(trace, _hex(trace + "try", 16), "chat small-1", at, (170, 380), {}, parent=top)
        spans.insert(2, failed | {"status": {"code": 2, "message": "The model did not answer in time."}})
    resource = {"attributes": [_attribute("service.name", "help-bot")]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "demo"}, "spans": spans}]}]}


def _span(
    trace: str,
    id: str,
    name: str,
    at: datetime,
    milliseconds: tuple[int, int],
    attributes: Mapping[str, Any],
    parent: str = "",
) -> dict[str, Any]:
    began, ended = (
        str(int((at + timedelta(milliseconds=offset)).timestamp() * 1000) * 1_000_000) for offset in milliseconds
    )
    encoded_attributes = [_attribute(key, value) for key, value in attributes.items()]
    span = {"traceId": trace, "spanId": id, "name": name, "kind": 1, "attributes": encoded_attributes}
    return {
        **span,
        "startTimeUnixNano": began,
        "endTimeUnixNano": ended,
        **({"parentSpanId": parent} if parent else {}),
    }


def _attribute(key: str, value: str | int) -> dict[str, Any]:
    return {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}


def _hex(text: str, n: int) -> str:
    """Return an id that is the same at each start, so that an export sent again doubles nothing."""
    return hashlib.sha256(f"demo {text}".encode()).hexdigest()[:n]


def _fail(calls: DemoCalls, examples: Sequence[Mapping[str, Any]]) -> None:
    """Use a judge that is unreachable: its results are errors and have no scores."""
    nowhere = {"name": "demo-unreachable", "base_url": NOWHERE + "/v1", "model": "judge-1"}
    calls.post("/v1/connections", nowhere)
    config = {"pass_criteria": "The MODEL OUTPUT is polite.", "connection": nowhere["name"]}
    calls.post("/v1/evaluator-criteria", {"evaluator_family": "judge", "name": "polite", "config": config})
    for example in examples[:N_FAILURES]:
        sample = {"input": example["input"], "output": f"{example['expected']}."}
        request = {"evaluators": [{"evaluator": "judge", "criteria": "polite"}], "app": APP, **sample}
        calls.post("/v1/evaluate", request)


def _create_failing_webhook(calls: DemoCalls) -> None:
    """Create a failing webhook. Responses with a secret are not stored for idempotency, so check first."""
    if not calls.get("/v1/event-endpoints")["event_endpoints"]:
        body = {"url": NOWHERE + "/hooks", "event_types": ["evaluation.failed", "decision.made"]}
        endpoint = calls.post("/v1/event-endpoints", body)["event_endpoint"]["id"]
        calls.post(f"/v1/event-endpoints/{endpoint}/test", {})
