"""Reviews, made and answered through the API."""

from __future__ import annotations

from typing import Any

from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.experiments.shapes import lease, new_push_experiment, post_outputs
from tests.factories import ok

REVIEWS = "/v1/reviews"


def answered_experiment(caller: Caller, n: int = 4, *, good: str = "fine", bad: str = "poor") -> Any:
    """An experiment of two configs that have answered every example."""
    made = new_push_experiment(caller, n)
    for config, text in zip(made["configs"], (good, bad), strict=True):
        while (unit := lease(caller, made["id"], config["id"])) is not None:
            post_outputs(caller, made["id"], unit, text)
    return made


def outputs_of(made: Any, *configs: str) -> dict[str, Any]:
    asked = {"experiment_id": made["id"]}
    return {"outputs": asked | ({"configs": list(configs)} if configs else {})}


def pairs_of(made: Any) -> dict[str, Any]:
    return {"pairs": {"experiment_id": made["id"]}}


def new_review(caller: Caller, items: dict[str, Any], *criteria: Any, **fields: Any) -> Any:
    named = {"criteria": [one["id"] for one in criteria]} if criteria else {}
    body = {"name": "Is it helpful?", "items": items, "seed": 7, **named, **fields}
    return ok(caller.post(REVIEWS, body), 201)["review"]


def review_of_outputs(caller: Caller, n: int = 4, kind: str = "binary", **fields: Any) -> tuple[Any, Any]:
    """A review of the outputs of one config, and its criteria."""
    criteria = new_criteria(caller, kind)
    made = answered_experiment(caller, n)
    return new_review(caller, outputs_of(made, "good"), criteria, **fields), criteria


def take(caller: Caller, review: Any, reviewer: str | None = None, **fields: Any) -> Any:
    body = fields | ({"reviewer": reviewer} if reviewer else {})
    return ok(caller.post(f"{REVIEWS}/{review['id']}/lease", body))["lease"]


def send_answer(caller: Caller, review: Any, held: Any, *values: Any, **fields: Any) -> Any:
    """Send answers as (criteria, {value…}) pairs; return the response."""
    answers = [{"criteria": criteria["id"], **value} for criteria, value in values]
    body = {"lease_token": held["lease_token"], **({"answers": answers} if answers else {}), **fields}
    return caller.post(f"{REVIEWS}/{review['id']}/items/{held['item_id']}/answers", body)


def say_pass(caller: Caller, review: Any, criteria: Any, *verdicts: bool, reviewer: str | None = None) -> None:
    """Answer the next items one after the other."""
    for verdict in verdicts:
        held = take(caller, review, reviewer)
        ok(send_answer(caller, review, held, (criteria, {"value_pass": verdict})))


def report(caller: Caller, review: Any) -> Any:
    return ok(caller.get(f"{REVIEWS}/{review['id']}"))["review"]


def items(caller: Caller, review: Any, **query: str) -> Any:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return ok(caller.get(f"{REVIEWS}/{review['id']}/items?{asked}"))["items"]


def expire_leases(review: Any) -> None:
    """Let all leases of a review have ended a minute ago."""
    from datetime import timedelta

    from django.utils import timezone

    from evalsvc.reviews.models import ReviewAnswer

    rows = ReviewAnswer.objects.using("system").filter(review_id=review["id"], answered_at=None)
    rows.update(lease_expires_at=timezone.now() - timedelta(minutes=1))
