"""The kinds of pages that `benchmarks.search` asks for, of evaluations and of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

EVALUATIONS, RESULTS = "/v1/evaluations/search", "/v1/evaluation-results/search"
LIMITS = (100, 1000)
NOW = datetime.now(UTC)
Post = Callable[[str, dict[str, Any]], Any]


def is_(field: str, value: Any, operation: str = "eq") -> dict[str, Any]:
    """Write a filter."""
    return {"field": field, "operation": operation, "value": value}


def days_ago(days: float) -> str:
    """Write a time."""
    return (NOW - timedelta(days=days)).isoformat()


def filters() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each kind of search with its filters."""
    yield "nothing", []
    yield "evaluator, common", [is_("evaluator_id", "evaluator-0")]
    yield "evaluator, rare", [is_("evaluator_id", "evaluator-19")]
    yield "evaluator of one's own", [is_("evaluator_id", "external:mine-4")]
    yield "criteria", [is_("criteria", "profile-29")]
    yield "criteria_id", [is_("criteria_id", "00000000-0000-4000-9000-000000000003")]
    yield "family", [is_("evaluator_family", "family-7")]
    yield "app, common", [is_("app", "app-0")]
    yield "app, rare", [is_("app", "app-49")]
    yield "project", [is_("project_id", "00000000-0000-4000-8000-000000000009")]
    yield "experiment", [is_("experiment_id", 1039)]
    yield "dataset", [is_("dataset_id", "dataset-7")]
    yield "log_id", [is_("log_id", "log-100")]
    yield "trace_id", [is_("trace_id", "trace-5000")]
    yield "pass = false", [is_("pass", False)]
    yield "pass = true", [is_("pass", True)]
    yield "favorite", [is_("favorite", True)]
    yield "feedback", [is_("feedback", "negative")]
    yield "type = client", [is_("evaluation_type", "client_evaluation")]
    yield "created_at, last day", [is_("created_at", days_ago(1), "ge")]
    yield "created_at, an old day", [is_("created_at", days_ago(80), "ge"), is_("created_at", days_ago(79), "lt")]
    yield "tag, common", [is_("tags.env", "prod")]
    yield "tag, rare", [is_("tags.user", "u1234")]
    yield "two tags", [is_("tags", {"env": "dev", "user": "u77"})]
    yield "in: 2 tags", [is_("tags.env", ["staging", "dev"], "in")]
    yield "in: 2 rare tags", [is_("tags.user", ["u1234", "u77"], "in")]
    yield "dataset and sample", [is_("dataset_id", "dataset-7"), is_("dataset_sample_id", "77")]
    yield "app ne", [is_("app", "app-0", "ne")]
    yield "in: 3 apps", [is_("app", ["app-7", "app-30", "app-49"], "in")]
    yield "in: 3 evaluators", [is_("evaluator_id", ["evaluator-19", "evaluator-18", "none"], "in")]
    yield "in: 500 log ids", [is_("log_id", [f"log-{i * 7}" for i in range(500)], "in")]
    yield "in: nothing there", [is_("app", ["none", "nor-this"], "in")]
    yield "app and pass = false", [is_("app", "app-3"), is_("pass", False)]
    yield "app and evaluator", [is_("app", "app-12"), is_("evaluator_id", "evaluator-9")]
    yield (
        "app, evaluator, criteria, fails",
        [*(is_("app", "app-12"), is_("evaluator_id", "evaluator-9"), is_("criteria", "profile-3"), is_("pass", False))],
    )
    yield "app and an old day", [is_("app", "app-3"), is_("created_at", days_ago(75), "lt")]
    yield "app and tag", [is_("app", "app-5"), is_("tags.env", "staging")]
    yield "or_: 2 apps", [{"or_": [is_("app", "app-8"), is_("app", "app-49")]}]
    yield "or_: log or trace", [{"or_": [is_("log_id", "log-100"), is_("trace_id", "trace-5000")]}]
    yield (
        "or_ of and_",
        [
            {
                "or_": [
                    {"and_": [is_("app", "app-40"), is_("pass", False)]},
                    {"and_": [is_("app", "app-45"), is_("favorite", True)]},
                ]
            }
        ],
    )
    yield "app that is not there", [is_("app", "none")]
    yield "evaluator that is not there", [is_("evaluator_id", "none")]
    yield "log that is not there", [is_("log_id", "none")]
    yield "tag that is not there", [is_("tags.env", "none")]
    yield "evaluator never in this app", [is_("app", "app-9"), is_("evaluator_id", "none")]


def results() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each kind of search for results with its body."""
    yield "nothing", {}
    yield "oldest first", {"order": "+created_at"}
    yield "by sample", {"order": "+dataset_sample_id"}
    yield "evaluator, common", {"evaluator_id": "evaluator-0"}
    yield "evaluator of one's own", {"evaluator_id": "external:mine-4"}
    yield "app, common", {"app": "app-0"}
    yield "app, rare", {"app": "app-49"}
    yield "project", {"project_id": "00000000-0000-4000-8000-000000000009"}
    yield "dataset", {"dataset_id": "dataset-7"}
    yield "dataset by sample", {"dataset_id": "dataset-7", "order": "-dataset_sample_id"}
    yield "pass = false", {"pass": False}
    yield "favorite", {"favorite": True}
    yield "feedback given", {"evaluation_feedback_status": "given"}
    yield "last day", {"after_datetime": days_ago(1)}
    yield "score at least 1", {"score_raw_min": 1}
    yield "tag, common", {"tags": {"env": "prod"}}
    yield "tag, rare", {"tags": {"user": "u1234"}}
    yield "app and tag", {"app": "app-5", "tags": {"env": "staging"}}
    yield "app that is not there", {"app": "none"}


def pages(post: Post) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the name, the address and the body of each page that is measured."""
    for name, wanted in filters():
        for limit in LIMITS:
            yield f"{name}, {limit}", EVALUATIONS, {"filters": wanted, "limit": limit}
    for name, wanted in (("nothing", []), ("app", [is_("app", "app-0")]), ("tag", [is_("tags.env", "prod")])):
        for limit in LIMITS:
            body = {"filters": wanted, "limit": limit}
            yield f"{name}, offset 10 000, {limit}", EVALUATIONS, body | {"offset": 10_000}
            yield f"{name}, cursor deep inside, {limit}", EVALUATIONS, body | {"cursor": deep_cursor(post, wanted)}
    for name, wanted_of_results in results():
        for limit in LIMITS:
            yield f"results: {name}, {limit}", RESULTS, wanted_of_results | {"limit": limit}


def deep_cursor(post: Post, wanted: list[dict[str, Any]]) -> str:
    """Return the cursor of a page half-way through."""
    old = [*wanted, is_("created_at", days_ago(45), "lt")]
    return str(post(EVALUATIONS, {"filters": old, "limit": 1}).json()["next_cursor"])
