"""Experiments, from their dataset to a comparison of what they answered."""

from __future__ import annotations

from typing import Any

from tests.comparisons.shapes import work_off
from tests.contract.tour.teller import Tour

EXPERIMENT = "/v1/experiments/{id}"
CONFIGS = f"{EXPERIMENT}/configs"
CONFIG = f"{CONFIGS}/{{config_id}}"
RIVERS = [("Paris", "Seine"), ("Rome", "Tiber"), ("Vienna", "Danube"), ("Cairo", "Nile")]
ACCURACY = [{"name": "accuracy", "evaluator": "exact-match"}]
EXACT = "exact-match-2026-11-28"


def measure(tour: Tour) -> None:
    """Tell of datasets, experiments, comparisons and benchmarks."""
    dataset = _keep_a_dataset(tour)
    made = _plan(tour, dataset, "rivers", "short", "long")
    _work_off(tour, made)
    _look(tour, made)
    _compare(tour, made)
    _steer(tour, _plan(tour, dataset, "rivers again", "short", "long", "plain"))
    _label(tour, dataset)
    benchmark = tour.call("POST", "/v1/benchmarks", {"name": "rivers", "plan": _asked(dataset)})["benchmark"]
    tour.show("GET", "/v1/benchmarks/{id}", id=benchmark["id"])


def _keep_a_dataset(tour: Tour) -> str:
    rows = [{"id": f"r{i}", "input": city, "expected": river} for i, (city, river) in enumerate(RIVERS, 1)]
    body = {"dataset_name": "rivers", "dataset_description": "Which river flows through it?", "examples": rows}
    id = str(tour.show("POST", "/v1/datasets", body)["dataset_id"])
    for step in ("", "/versions", "/csv", "/jsonl"):
        tour.show("GET", "/v1/datasets/{id}" + step, id=id)
    return id


def _asked(dataset: str) -> dict[str, Any]:
    return {"dataset_id": dataset, "metrics": ACCURACY}


def _plan(tour: Tour, dataset: str, name: str, *configs: str) -> Any:
    pushed = [{"name": one, "kind": "push"} for one in configs]
    body = {"name": name, "plan": _asked(dataset) | {"start": True, "seed": 7, "micro_batch": 2}, "configs": pushed}
    return tour.call("POST", "/v1/experiments", body)["experiment"]


def _work_off(tour: Tour, made: Any) -> None:
    """Answer every example by each config; the second one knows two rivers only."""
    for n_known, config in zip((4, 2), made["configs"], strict=True):
        ids = {"id": made["id"], "config_id": config["id"]}
        body = {"n": 2, "lease_seconds": 60}
        while unit := tour.show("POST", f"{CONFIG}/lease", body, **ids)["unit"]:
            last = tour.shown[f"post {CONFIG}/lease"]
            known = dict(RIVERS[:n_known])
            rows = [{"pos": one["pos"], "output": known.get(one["input"], "Rhine")} for one in unit["examples"]]
            sent = {"token": unit["token"], "outputs": rows}
            tour.show("POST", f"{EXPERIMENT}/units/{{unit_id}}/outputs", sent, id=made["id"], unit_id=unit["id"])
        tour.shown[f"post {CONFIG}/lease"] = last


def _look(tour: Tour, made: Any) -> None:
    id, config = made["id"], made["configs"][0]["id"]
    for step in ("", "/looks", "/decisions", "/metrics", "/configs", "/recount"):
        tour.show("GET", EXPERIMENT + step, id=id)
    results = tour.show("GET", f"{EXPERIMENT}/results", query=f"config_id={config}&limit=2", id=id)["results"]
    tour.show("GET", CONFIG, id=id, config_id=config)
    tour.call("POST", f"{EXPERIMENT}/metrics", {"metrics": [{"name": "taste", "source": "client"}]}, id=id)
    scores = {"metric": "taste", "scores": [{"output_id": results[0]["id"], "value": 0.8}]}
    tour.show("POST", f"{EXPERIMENT}/scores", scores, id=id)
    tour.show("POST", f"{CONFIG}/promote", {"force": True}, id=id, config_id=config)
    renamed = {"name": "rivers, first try", "tags": {"team": "search"}}
    tour.show("PATCH", EXPERIMENT, renamed, id=id)
    tour.show("POST", EXPERIMENT, renamed, id=id)
    tour.show("POST", "/v1/experiments{id}", renamed, id=id)
    gate = {"candidate": {"experiment_id": id, "config": "short"}, "rules": [{"metric": "accuracy", "at_least": 0.5}]}
    tour.show("GET", "/v1/gates/{id}", id=tour.call("POST", "/v1/gates", gate)["gate"]["id"])


def _compare(tour: Tour, made: Any) -> None:
    body = {"experiment_id": made["id"], "judge": {"metric": "accuracy"}}
    compared = tour.call("POST", "/v1/comparisons", body)["comparison"]
    work_off(tour.caller, compared)
    tour.show("GET", "/v1/comparisons/{id}", id=compared["id"])
    tour.show("GET", "/v1/comparisons/{id}/judgements", query="limit=2", id=compared["id"])
    tour.show("POST", "/v1/comparisons/{id}/stop", id=compared["id"])


def _steer(tour: Tour, made: Any) -> None:
    id, config = made["id"], made["configs"][0]["id"]
    for verb in ("stop", "resume"):
        tour.show("POST", f"{CONFIG}/{verb}", {}, id=id, config_id=config)
        tour.show("POST", f"{CONFIGS}/{verb}", {"config_ids": [made["configs"][1]["id"]]}, id=id)
    cloned = {"name": "short, warm", "changes": {"temperature": 0.7}}
    tour.show("POST", f"{CONFIG}/clone", cloned, id=id, config_id=config)
    tour.show("POST", CONFIGS, {"configs": [{"name": "late", "kind": "push"}]}, id=id)
    tour.show("POST", f"{CONFIGS}/delete", {"config_ids": [made["configs"][2]["id"]]}, id=id)


def _label(tour: Tour, dataset: str) -> None:
    """Put a label on the prompt of a config that nothing has shown to be best, which has to be forced."""
    connection = {"name": "llm", "base_url": "http://127.0.0.1:9/v1", "model": "small-1"}
    tour.call("POST", "/v1/connections", connection)
    prompt = {"prompt_name": "ask", "project_name": "bot", "body": "Which river? {{input}}"}
    revision = tour.show("POST", "/v1/prompt-revisions", prompt)["prompt_revision"]["revision"]
    parameters = {"connection": "llm", "model": "small-1", "prompt_from": {"name": "ask", "revision": revision}}
    config = {"name": "asked", "kind": "chat", "parameters": parameters}
    body = {"name": "asking", "plan": _asked(dataset), "configs": [config]}
    made = tour.call("POST", "/v1/experiments", body)["experiment"]
    ids = {"id": made["id"], "config_id": made["configs"][0]["id"]}
    tour.show("POST", f"{CONFIG}/label", {"label": "production", "force": True}, **ids)
    tour.show("GET", "/v1/prompt-revisions", query="prompt_name=ask")
