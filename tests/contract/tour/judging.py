"""Verdicts and what they are made with: profiles, criteria, annotations, thresholds, and reviews by people."""

from __future__ import annotations

from typing import Any

from tests.calibrations.rows import labelled
from tests.contract.tour.teller import Tour

REVIEW = "/v1/reviews/{id}"
ITEM = f"{REVIEW}/items/{{item_id}}"
PROFILE = {"evaluator_family": "metrics", "name": "close to it", "config": {"metric": "bleu"}}
SAMPLE = {"input": "Capital of France?", "output": "Paris.", "gold_answer": "Paris", "app": "capitals"}


def judge(tour: Tour) -> None:
    """Tell of evaluations, profiles, annotations and reviews."""
    kept = {"evaluations": [{"evaluator_id": "mine", "log_id": "a-1", "score": 0.8, "app": "capitals"}]}
    tour.show("POST", "/v1/evaluations/batch", kept)
    _keep_profiles(tour)
    project = tour.call("POST", "/v1/projects", {"name": "capitals"})["id"]
    tour.show("GET", "/v1/projects")
    tour.show("GET", "/v1/projects/{id}", id=project)
    criteria = _annotate(tour, project)
    _review(tour, criteria)


def _keep_profiles(tour: Tour) -> None:
    tour.show("POST", "/v1/evaluator-criteria", PROFILE)
    made = tour.show("POST", "/v1/evaluator-profiles", PROFILE | {"name": "closer"})["evaluator_profile"]
    revision = {"config": {"metric": "rougeL"}}
    tour.show("POST", "/v1/evaluator-profiles/{public_id}/revision", revision, public_id=made["public_id"])
    tour.show("GET", "/v1/evaluator-profiles", query="name=closer")
    tour.show("PATCH", "/v1/evaluator-profiles/{public_id}/archive", public_id=made["public_id"])
    rows = [row | {"score": round(row["score"], 3)} for row in labelled(30)]
    tour.show("POST", "/v1/calibrations", {"evaluator": "answer-relevance", "rows": rows, "seed": 7})


def _annotate(tour: Tour, project: str) -> Any:
    asked = {"project_id": project, "name": "is it right?", "annotation_type": "binary"}
    criteria = tour.show("POST", "/v1/annotation-criteria", asked)["annotation_criteria"]
    changed = {"name": "is it right?", "description": "As the map has it.", "annotation_type": "binary"}
    tour.show("PUT", "/v1/annotation-criteria/{id}", changed, id=criteria["id"])
    tour.show("GET", "/v1/annotation-criteria", query=f"project_id={project}")
    said = {"annotation_criteria": criteria["id"], "type": "trace", "reference": "t-1", "value_pass": True}
    tour.call("POST", "/v1/annotations", said | {"explanation": "The map agrees."})
    tour.show("GET", "/v1/annotations", query="reference=t-1")
    return criteria


def _review(tour: Tour, criteria: Any) -> None:
    exact = {"evaluators": [{"evaluator": "exact-match"}], "capture": "all"}
    for output in ("Paris", "Paris.", "Lyon"):
        tour.call("POST", "/v1/evaluate", exact | SAMPLE | {"output": output})
    kept = {"app": "capitals", "evaluator_family": "exact-match"}
    filters = [{"field": name, "operation": "eq", "value": value} for name, value in kept.items()]
    items = {"evaluations": {"filters": filters}}
    asked = {"name": "Capitals of last week", "criteria": [criteria["id"]], "seed": 7, "items": items}
    review = {"id": tour.call("POST", "/v1/reviews", asked)["review"]["id"]}
    held = tour.show("POST", f"{REVIEW}/lease", {"reviewer": "ann", "seconds": 600}, **review)["lease"]
    said = {"lease_token": held["lease_token"], "answers": [{"criteria": criteria["id"], "value_pass": True}]}
    tour.show("POST", f"{ITEM}/answers", said, item_id=held["item_id"], **review)
    held = tour.call("POST", f"{REVIEW}/lease", {"reviewer": "ann"}, **review)["lease"]
    tour.show("POST", f"{ITEM}/skip", {"lease_token": held["lease_token"]}, item_id=held["item_id"], **review)
    rows = f"item_id,reviewer,answer:is it right?\n{held['item_id']},ben,fail\n"
    tour.show("POST", f"{REVIEW}/import", {"format": "csv", "text": rows}, **review)
    tour.show("GET", REVIEW, **review)
    tour.show("GET", f"{REVIEW}/items", query="limit=2", **review)
    tour.show("GET", f"{REVIEW}/export", query="format=csv", **review)
    tour.show("POST", f"{REVIEW}/links", {"name": "Ann", "expires_in_seconds": 86400}, **review)
    tour.show("GET", f"{REVIEW}/links", **review)
    tour.show("POST", f"{REVIEW}/close", **review)
