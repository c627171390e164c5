"""A call of every POST of the API, with what it needs first, and what its answers are like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.annotations.shapes import (
    ANNOTATE,
    ANNOTATIONS,
    CRITERIA,
    annotate_body,
    annotation_body,
    criteria_body,
    new_criteria,
)
from tests.calibrations.rows import labelled
from tests.comparisons import shapes as comparisons
from tests.conftest import Caller
from tests.datasets.shapes import new_version
from tests.evaluations.bulk.shapes import BATCH, exact
from tests.events.shapes import new_endpoint, send_test_event
from tests.experiments.shapes import ACCURACY, filled_experiment, lease, new_push_experiment
from tests.factories import chat, make_connection, make_dataset, make_experiment, ok
from tests.monitors import shapes as monitors
from tests.nightly.shapes import new_benchmark
from tests.prompts.shapes import GREETING, revise
from tests.reviews import shapes as reviews
from tests.rules import shapes as rules
from tests.telemetry.otlp import log, logs, new_id, span, traces
from tests.telemetry.traced import Recorder, build_message, user

EVALUATE = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "app": "shop"}
CONNECTION = {"name": "llm", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
RESULTS = {"evaluation_results": [{"evaluator_id": "mine", "score_raw": 1}]}
SCORES = {"evaluations": [{"evaluator_id": "mine", "log_id": "a", "score": 1}]}
PROFILE = {"evaluator_family": "metrics", "name": "mine", "config": {"metric": "bleu"}}


Route = Callable[[Caller], tuple[str, dict[str, Any]]]


def new_profile(caller: Caller) -> str:
    made = caller.post("/v1/evaluator-criteria", PROFILE | {"name": "revised"}).json()
    return made["evaluator_criteria"]["public_id"]


def of_result(path: str, body: dict[str, Any]) -> Route:
    def route(caller: Caller) -> tuple[str, dict[str, Any]]:
        (made,) = caller.post("/v1/evaluation-results/batch", RESULTS).json()["evaluation_results"]
        return f"/v1/evaluation-results/{made['id']}/{path}", body

    return route


def posts_of_datasets(caller: Caller) -> str:
    return str(new_version(caller).dataset_id)


def conversations_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    recorder = Recorder()
    recorder.chat([user("Hi")], build_message("Hello"))
    caller.post("/v1/traces", traces(*recorder.spans))
    return "/v1/datasets/conversations", {"dataset_name": "talks", "session_ids": ["s1"]}


def spans_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    rules.send(caller, rules.answered("Ada."))
    return "/v1/datasets/spans", {"dataset_name": "traffic"}


def of_config(verb: str, body: dict[str, Any]) -> Route:
    def route(caller: Caller) -> tuple[str, dict[str, Any]]:
        made = new_push_experiment(caller)
        return f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/{verb}", body

    return route


def of_experiment(path: str, body: dict[str, Any], **plan: Any) -> Route:
    return lambda caller: (f"/v1/experiments/{new_push_experiment(caller, **plan)['id']}{path}", body)


def of_experiment_without_slash(caller: Caller) -> tuple[str, dict[str, Any]]:
    return f"/v1/experiments{new_push_experiment(caller)['id']}", {"name": "renamed"}


def outputs_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    made = new_push_experiment(caller)
    unit = lease(caller, made["id"], made["configs"][0]["id"])
    rows = [{"pos": e["pos"], "output": "x"} for e in unit["examples"]]
    return f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": rows}


def label_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    made = revise(caller, body="{{input}}")
    config = chat(make_connection(caller, "http://127.0.0.1:9/v1"), "m")
    del config["parameters"]["prompt"]
    config["parameters"]["prompt_from"] = {"name": made["prompt_definition_name"], "revision": made["revision"]}
    planned = make_experiment(caller, make_dataset(caller, n=3), [config], start=False)
    path = f"/v1/experiments/{planned['id']}/configs/{planned['configs'][0]['id']}/label"
    return path, {"label": "new", "force": True}


def scores_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    made = filled_experiment(caller)
    outputs = caller.get(f"/v1/experiments/{made.id}/results?config_id={made.configs[0]}").json()["results"]
    body = {"metric": "mine", "scores": [{"output_id": outputs[0]["id"], "value": 1}]}
    return f"/v1/experiments/{made.id}/scores", body


def retry_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    _, body = aggregates_route(caller)
    return f"/v1/experiments/{body['experiment_ids'][0]}/retry", {"what": "outputs"}


def aggregates_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    made = make_experiment(caller, make_dataset(caller, n=2), [{"name": "mine", "kind": "push"}])
    return "/v1/aggregates", {"experiment_ids": [made["id"]]}


def benchmarks_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    return "/v1/benchmarks", {"name": "x", "plan": {"dataset_id": posts_of_datasets(caller), "metrics": ACCURACY}}


def executions_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    return f"/v1/benchmarks/{new_benchmark(caller, n=3)['id']}/executions", {"config": {"kind": "push"}}


def preview_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    plan = {"dataset_id": posts_of_datasets(caller), "metrics": ACCURACY}
    return "/v1/experiments/preview", {"name": "x", "plan": plan, "configs": [{"kind": "push"}]}


def review_route(path: str, body: dict[str, Any]) -> Route:
    return lambda caller: (f"{reviews.REVIEWS}/{reviews.review_of_outputs(caller)[0]['id']}/{path}", body)


def new_review_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    made = reviews.answered_experiment(caller)
    return reviews.REVIEWS, {"name": "new", "items": reviews.outputs_of(made), "criteria": [new_criteria(caller)["id"]]}


def comparison_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    made = comparisons.answered(caller, n=2)
    return comparisons.COMPARISONS, {"experiment_id": made["id"], "judge": comparisons.BY_ACCURACY}


def stop_comparison_route(caller: Caller) -> tuple[str, dict[str, Any]]:
    made = comparisons.compare(caller, comparisons.answered(caller, n=2))
    return f"{comparisons.COMPARISONS}/{made['id']}/stop", {}


def item_route(verb: str) -> Route:
    def route(caller: Caller) -> tuple[str, dict[str, Any]]:
        review, criteria = reviews.review_of_outputs(caller)
        held = reviews.take(caller, review)
        said = {"answers": [{"criteria": criteria["id"], "value_pass": True}]} if verb == "answers" else {}
        path = f"{reviews.REVIEWS}/{review['id']}/items/{held['item_id']}/{verb}"
        return path, {"lease_token": held["lease_token"], **said}

    return route


def monitor_route(path: str) -> Route:
    def route(caller: Caller) -> tuple[str, dict[str, Any]]:
        monitors.send(caller, monitors.verdicts(100, 10))
        return path, monitors.BODY

    return route


def alarm_route(verb: str) -> Route:
    return lambda caller: (f"{monitors.ALARMS}/{monitors.new_alarm(caller)['id']}/{verb}", {})


CALIBRATIONS = "/v1/calibrations"
SET_LABELS, REMOVE_LABELS = (f"/v1/prompt-revisions/{{id}}/{verb}-labels" for verb in ("set", "remove"))
TEST_EVENT, REPLAY = "/v1/event-endpoints/{id}/test", "/v1/event-deliveries/{id}/replay"
GATES = "/v1/gates"
EVALUATORS = "/v1/evaluators"
SEARCHES = "/v1/saved-searches"
RULES, BACKFILL = "/v1/rules", "/v1/rules/{id}/backfill"
RULE = {"name": "answers", "evaluators": [{"evaluator": "pii"}]}
RANGE = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}
GATE = {"history": {"evaluator": "exact-match"}, "rules": [{"metric": "pass", "at_least": 0.5}]}
CALIBRATION = {"evaluator": "toxicity", "rows": labelled(60), "apply": {"name": "calibrated"}}
CLOSE, SKIP = "/v1/reviews/{id}/close", "/v1/reviews/{id}/items/{item_id}/skip"
ROUTES: dict[str, Route] = {
    "/v1/benchmarks": benchmarks_route,
    "/v1/benchmarks/{id}/executions": executions_route,
    EVALUATORS: lambda caller: (EVALUATORS, {"id": "ours", "base": "exact-match-2026-11-28"}),
    "/v1/evaluate": lambda caller: ("/v1/evaluate", EVALUATE),
    BATCH: lambda caller: (BATCH, exact(3)),
    "/v1/evaluations/search": lambda caller: ("/v1/evaluations/search", {"limit": 5}),
    SEARCHES: lambda caller: (SEARCHES, {"name": "failed", "query": {"period": "7d", "result": "fail"}}),
    "/v1/evaluations/batch": lambda caller: ("/v1/evaluations/batch", SCORES),
    "/v1/traces": lambda caller: ("/v1/traces", traces(span(new_id()))),
    "/v1/traces/v1/traces": lambda caller: ("/v1/traces/v1/traces", traces(span(new_id()))),
    "/v1/metrics": lambda caller: ("/v1/metrics", {"resourceMetrics": []}),
    "/v1/logs": lambda caller: ("/v1/logs", logs(log())),
    "/v1/otel/logs/search": lambda caller: ("/v1/otel/logs/search", {"limit": 5, "order": "timestamp asc"}),
    "/v1/otel/spans/search": lambda caller: ("/v1/otel/spans/search", {"limit": 5, "order": "timestamp asc"}),
    **{
        path: lambda caller, path=path: (path, {"limit": 5})
        for path in ("/v1/trace-insight/search", "/v1/trace-insight/errors", "/v1/span-analysis/search")
    },
    "/v1/evaluation-results/search": lambda caller: ("/v1/evaluation-results/search", {"limit": 5}),
    "/v1/evaluation-results/batch": lambda caller: ("/v1/evaluation-results/batch", RESULTS),
    "/v1/evaluation-results/{id}/favorite": of_result("favorite", {}),
    "/v1/evaluation-results/{id}/evaluation-feedback": of_result("evaluation-feedback", {"feedback": "positive"}),
    "/v1/evaluator-criteria": lambda caller: ("/v1/evaluator-criteria", PROFILE),
    "/v1/evaluator-criteria/{public_id}/revision": lambda caller: (
        f"/v1/evaluator-criteria/{new_profile(caller)}/revision",
        {"config": {"metric": "rougeL"}},
    ),
    "/v1/evaluator-profiles": lambda caller: ("/v1/evaluator-profiles", PROFILE),
    "/v1/evaluator-profiles/{public_id}/revision": lambda caller: (
        f"/v1/evaluator-profiles/{new_profile(caller)}/revision",
        {"config": {"metric": "rougeL"}},
    ),
    "/v1/projects": lambda caller: ("/v1/projects", {"name": "new"}),
    CRITERIA: lambda caller: (CRITERIA, criteria_body(caller)),
    ANNOTATIONS: lambda caller: (ANNOTATIONS, annotation_body(new_criteria(caller), "trace", "t")),
    f"{ANNOTATIONS}/search": lambda caller: (f"{ANNOTATIONS}/search", {"limit": 5}),
    f"{CRITERIA}/search": lambda caller: (f"{CRITERIA}/search", {"limit": 5}),
    ANNOTATE: lambda caller: (ANNOTATE, annotate_body(new_criteria(caller))),
    "/v1/prompt-revisions": lambda caller: ("/v1/prompt-revisions", GREETING),
    SET_LABELS: lambda caller: (f"/v1/prompt-revisions/{revise(caller)['id']}/set-labels", {"labels": ["new"]}),
    REMOVE_LABELS: lambda caller: (f"/v1/prompt-revisions/{revise(caller)['id']}/remove-labels", {"labels": ["new"]}),
    TEST_EVENT: lambda caller: (TEST_EVENT.format(id=new_endpoint(caller)["id"]), {}),
    REPLAY: lambda caller: (REPLAY.format(id=send_test_event(caller, new_endpoint(caller)["id"])["id"]), {}),
    CALIBRATIONS: lambda caller: (CALIBRATIONS, CALIBRATION),
    GATES: lambda caller: (GATES, GATE),
    RULES: lambda caller: (RULES, RULE),
    f"{RULES}/preview": lambda caller: (f"{RULES}/preview", {}),
    BACKFILL: lambda caller: (BACKFILL.format(id=ok(caller.post(RULES, RULE), 201)["rule"]["id"]), RANGE),
    monitors.MONITORS: monitor_route(monitors.MONITORS),
    f"{monitors.MONITORS}/preview": monitor_route(f"{monitors.MONITORS}/preview"),
    **{f"{monitors.ALARMS}/{{id}}/{verb}": alarm_route(verb) for verb in ("acknowledge", "resolve")},
    "/v1/connections": lambda caller: ("/v1/connections", CONNECTION),
    "/v1/datasets": lambda caller: ("/v1/datasets", {"dataset_name": "new", "examples": [{"input": "x"}]}),
    "/v1/datasets/conversations": conversations_route,
    "/v1/datasets/spans": spans_route,
    "/v1/datasets/{id}/versions": lambda caller: (
        f"/v1/datasets/{posts_of_datasets(caller)}/versions",
        {"examples": [{"input": "new"}]},
    ),
    "/v1/experiments": lambda caller: ("/v1/experiments", {"name": "x"}),
    "/v1/experiments/preview": preview_route,
    "/v1/aggregates": aggregates_route,
    "/v1/experiments/{id}/retry": retry_route,
    "/v1/experiments/{id}": of_experiment("", {"name": "renamed"}),
    "/v1/experiments{id}": of_experiment_without_slash,
    "/v1/experiments/{id}/start": of_experiment("/start", {}, start=False),
    "/v1/experiments/{id}/metrics": of_experiment(
        "/metrics", {"metrics": [{"name": "new", "evaluator": "exact-match"}]}
    ),
    "/v1/experiments/{id}/scores": scores_route,
    "/v1/score/batch": lambda caller: (
        "/v1/score/batch",
        {"rows": [{"output": "x", "expected": "x"}], "metrics": ACCURACY},
    ),
    "/v1/experiments/{id}/configs": of_experiment("/configs", {"configs": [{"kind": "push"}]}),
    **{
        f"/v1/experiments/{{id}}/configs/{verb}": of_experiment(f"/configs/{verb}", {"config_ids": "all"})
        for verb in ("stop", "resume", "delete")
    },
    **{
        f"/v1/experiments/{{id}}/configs/{{config_id}}/{verb}": of_config(verb, {})
        for verb in ("stop", "resume", "clone", "lease", "promote")
    },
    "/v1/experiments/{id}/configs/{config_id}/label": label_route,
    "/v1/experiments/{id}/units/{unit_id}/outputs": outputs_route,
    "/v1/comparisons": comparison_route,
    "/v1/comparisons/{id}/stop": stop_comparison_route,
    "/v1/reviews": new_review_route,
    "/v1/reviews/{id}/lease": review_route("lease", {"reviewer": "ann"}),
    CLOSE: review_route("close", {}),
    "/v1/reviews/{id}/items/{item_id}/answers": item_route("answers"),
    SKIP: item_route("skip"),
    "/v1/reviews/{id}/import": review_route("import", {"format": "csv", "text": "item_id\n"}),
}
CREATED = {
    SEARCHES,
    RULES,
    EVALUATORS,
    monitors.MONITORS,
    "/v1/connections",
    TEST_EVENT,
    "/v1/reviews",
    "/v1/comparisons",
}
# Each sample has a record of its own.
N_OWN_RECORDS = {BATCH: 3}
NO_CONTENT = {
    "/v1/evaluation-results/{id}/favorite",
    "/v1/evaluation-results/{id}/evaluation-feedback",
    SET_LABELS,
    REMOVE_LABELS,
    SKIP,
}
PROMOTE = "/v1/experiments/{id}/configs/{config_id}/promote"
WITHOUT_BODY = {
    "/v1/experiments/{id}/start",
    "/v1/evaluation-results/{id}/favorite",
    PROMOTE,
    TEST_EVENT,
    REPLAY,
    CLOSE,
    "/v1/comparisons/{id}/stop",
    "/v1/alarms/{id}/acknowledge",
    "/v1/alarms/{id}/resolve",
}
# A trial is of this moment: an earlier one would tell nothing. A new secret is kept nowhere in plain text. No job is
# ever made.
NOT_REPLAYED = {"/v1/connections/{id}/test", "/v1/webhook-secret/rotate", "/v1/trace-insight-jobs"} | {
    "/v1/event-endpoints",
    "/v1/event-endpoints/{id}/rotate",
    # It takes a zip file: tests/reports/test_bundles.py sends one twice.
    "/v1/experiments/import",
    "/v1/reviews/{id}/links",
}


def status_of(route: str) -> int:
    """What a call that is obeyed answers with."""
    return 201 if route in CREATED else 204 if route in NO_CONTENT else 202 if route == BACKFILL else 200
