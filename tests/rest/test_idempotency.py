"""`Idempotency-Key`: a POST sent again is answered again, and done once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connections

from evalsvc.catalog.models import Profile, ProfileRevision
from evalsvc.rest.idempotency import finish_claim
from evalsvc.rest.models import IdempotencyRecord
from evalsvc.tenancy.scope import account_scope
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
from tests.conftest import Caller, scores_of, wait_until
from tests.datasets.shapes import new_version
from tests.evaluations.bulk.shapes import BATCH, exact
from tests.events.shapes import new_endpoint, send_test_event
from tests.experiments.shapes import ACCURACY, filled_experiment, lease, new_push_experiment
from tests.factories import chat, make_connection, make_dataset, make_experiment
from tests.nightly.shapes import new_benchmark
from tests.prompts.shapes import GREETING, revise
from tests.rest.shapes import assert_problem, view_of
from tests.reviews import shapes as reviews
from tests.telemetry.otlp import log, logs, new_id, span, traces

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


CALIBRATIONS = "/v1/calibrations"
SET_LABELS, REMOVE_LABELS = (f"/v1/prompt-revisions/{{id}}/{verb}-labels" for verb in ("set", "remove"))
TEST_EVENT, REPLAY = "/v1/event-endpoints/{id}/test", "/v1/event-deliveries/{id}/replay"
GATES = "/v1/gates"
GATE = {"history": {"evaluator": "exact-match"}, "rules": [{"metric": "pass", "at_least": 0.5}]}
CALIBRATION = {"evaluator": "toxicity", "rows": labelled(60), "apply": {"name": "calibrated"}}
CLOSE, SKIP = "/v1/reviews/{id}/close", "/v1/reviews/{id}/items/{item_id}/skip"
ROUTES: dict[str, Route] = {
    "/v1/benchmarks": benchmarks_route,
    "/v1/benchmarks/{id}/executions": executions_route,
    "/v1/evaluate": lambda caller: ("/v1/evaluate", EVALUATE),
    BATCH: lambda caller: (BATCH, exact(3)),
    "/v1/evaluations/search": lambda caller: ("/v1/evaluations/search", {"limit": 5}),
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
    "/v1/connections": lambda caller: ("/v1/connections", CONNECTION),
    "/v1/datasets": lambda caller: ("/v1/datasets", {"dataset_name": "new", "examples": [{"input": "x"}]}),
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
CREATED = {"/v1/connections", TEST_EVENT, "/v1/reviews", "/v1/comparisons"}
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
    return 201 if route in CREATED else 204 if route in NO_CONTENT else 200


def records(caller: Caller) -> Any:
    return IdempotencyRecord.objects.using("system").filter(account_id=caller.account.pk)


def n_revisions(caller: Caller) -> int:
    return ProfileRevision.objects.using("system").filter(account_id=caller.account.pk).count()


def elsewhere(send: Callable[[], Any]) -> Any:
    """Send a request from a thread of its own, as the server does."""

    def run() -> Any:
        try:
            return send()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def test_every_post_is_covered_here(alice: Caller) -> None:
    paths = alice.get("/v1/openapi.json").json()["paths"]

    assert {path for path, methods in paths.items() if "post" in methods} == set(ROUTES) | NOT_REPLAYED


@pytest.mark.parametrize("route", ROUTES)
def test_it_replays_to_the_byte(alice: Caller, route: str) -> None:
    path, body = ROUTES[route](alice)
    first, second = (alice.post(path, body, Idempotency_Key="key 1") for _ in range(2))

    assert first.status_code == second.status_code == status_of(route), first.content
    assert first.content == second.content
    assert first.get("Content-Type") == second.get("Content-Type")
    assert "Idempotency-Replayed" not in first
    assert second["Idempotency-Replayed"] == "true"
    assert records(alice).count() == 1 + N_OWN_RECORDS.get(route, 0)


@pytest.mark.parametrize("route", ROUTES)
def test_it_refuses_another_body_under_the_key(alice: Caller, route: str) -> None:
    path, body = ROUTES[route](alice)
    alice.post(path, body, Idempotency_Key="k")

    code = "validation_failed" if "POST" in view_of(path).bare else "idempotency_key_reused"
    assert_problem(alice.post(path, body | {"more": 1}, Idempotency_Key="k"), code)


def test_it_refuses_another_address_under_the_key(alice: Caller) -> None:
    alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k")

    assert_problem(alice.post("/v1/evaluations/search", EVALUATE, Idempotency_Key="k"), "idempotency_key_reused")


def test_it_is_done_once(alice: Caller) -> None:
    path, body = ROUTES["/v1/evaluator-criteria/{public_id}/revision"](alice)
    for _ in range(3):
        alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="evaluate")
        alice.post(path, body, Idempotency_Key="revise")

    assert len(scores_of(alice, "exact-match")) == 1
    assert n_revisions(alice) == 2


@pytest.mark.parametrize("route", ["/v1/evaluate", "/v1/evaluator-criteria"])
def test_eight_at_once_have_one_effect(alice: Caller, route: str) -> None:
    path, body = ROUTES[route](alice)
    start = threading.Barrier(8, timeout=100)

    def send(_: int) -> Any:
        start.wait()
        return elsewhere(lambda: alice.post(path, body, Idempotency_Key="k"))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))

    assert {answer.status_code for answer in answers} <= {200, 409}
    assert len({answer.content for answer in answers if answer.status_code == 200}) == 1
    assert len(scores_of(alice, "exact-match")) == (route == "/v1/evaluate")
    assert n_revisions(alice) == (route == "/v1/evaluator-criteria")


def test_accounts_have_their_own_keys(alice: Caller, charlie: Caller) -> None:
    answers = [caller.post("/v1/evaluate", EVALUATE, Idempotency_Key="k") for caller in (alice, charlie)]

    assert all("Idempotency-Replayed" not in answer for answer in answers)
    assert len(scores_of(alice, "exact-match")) == len(scores_of(charlie, "exact-match")) == 1


@pytest.mark.parametrize(("route", "service"), [
    ("/v1/evaluate", "evalsvc.evaluations.evaluate.accept.accept"),
    ("/v1/evaluator-criteria", "evalsvc.catalog.services.create_profile"),
])  # fmt: skip
def test_a_second_request_hears_that_the_first_is_running(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, route: str, service: str
) -> None:
    path, body = ROUTES[route](alice)
    seen: list[Any] = []

    def meanwhile(**kwargs: Any) -> Any:
        monkeypatch.undo()
        seen.append(elsewhere(lambda: alice.post(path, body, Idempotency_Key="k")))
        raise RuntimeError("the first one breaks, too")

    monkeypatch.setattr(service, meanwhile)
    assert_problem(alice.post(path, body, Idempotency_Key="k"), "internal_error")

    assert_problem(seen[0], "in_progress")
    assert 1 <= int(seen[0]["Retry-After"]) <= 60
    assert seen[0]["x-should-retry"] == "true"
    assert alice.post(path, body, Idempotency_Key="k").status_code == 200


@pytest.mark.parametrize("route", [route for route in ROUTES if route not in WITHOUT_BODY])
def test_a_refused_request_gives_the_key_back(alice: Caller, route: str) -> None:
    path, body = ROUTES[route](alice)
    bad = {name: 7 for name in body if name != "limit"} | {"limit": "x"}

    assert alice.post(path, bad, Idempotency_Key="k").status_code == 422
    assert alice.post(path, raw=b"{", Idempotency_Key="k").status_code == 400
    assert alice.post(path, body, Idempotency_Key="k").status_code == status_of(route)


def test_a_rolled_back_request_gives_the_key_back(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **fields: Any) -> None:
        raise RuntimeError("at the last moment")

    monkeypatch.setattr("evalsvc.accounts.views.finish_claim", broken)
    assert alice.post("/v1/evaluator-criteria", PROFILE, Idempotency_Key="k").status_code == 500
    assert n_revisions(alice) == 0

    monkeypatch.undo()
    assert alice.post("/v1/evaluator-criteria", PROFILE, Idempotency_Key="k").status_code == 200


class Crash(BaseException):
    """A process that dies takes no exit through any `except Exception`."""


def test_a_database_that_goes_away_meanwhile_is_unavailable(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key cannot be given back then: the answer is of the failure, not of that."""

    def gone(*args: object, **fields: object) -> None:
        raise OperationalError("the server closed the connection")

    def broken(*args: object, **fields: object) -> None:
        monkeypatch.setattr("evalsvc.rest.idempotency.account_scope", gone)
        gone()

    monkeypatch.setattr("evalsvc.accounts.views.finish_claim", broken)
    answer = alice.post("/v1/projects", {"name": "gone"}, Idempotency_Key="gone")
    monkeypatch.undo()

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer["Retry-After"]


def away_once(monkeypatch: pytest.MonkeyPatch, *, is_committed: bool) -> None:
    """Let the connection break at the next commit, before the server does it or after: nobody can tell which."""
    real = psycopg.Connection.commit

    def commit(self: Any) -> None:
        monkeypatch.setattr(psycopg.Connection, "commit", real)
        if is_committed:
            real(self)
        self.close()
        raise psycopg.OperationalError("the server closed the connection")

    monkeypatch.setattr(psycopg.Connection, "commit", commit)


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_key_whose_claim_may_have_been_kept_is_given_back(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    """After a failover, a retry must not wait for the lease of a claim that nobody holds."""
    away_once(monkeypatch, is_committed=is_committed)
    assert_problem(alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k"), "unavailable")

    wait_until(lambda: not records(alice).exists())
    assert alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k").status_code == 200
    assert len(scores_of(alice, "exact-match")) == 1


def test_a_key_is_given_back_when_the_database_is_back(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    n_failures = iter(range(3))

    def away(*args: Any, **fields: Any) -> Any:
        if next(n_failures, None) is not None:
            raise OperationalError("the server is not back yet")
        return account_scope(*args, **fields)

    def broken(*args: object, **fields: object) -> None:
        monkeypatch.setattr("evalsvc.rest.idempotency.account_scope", away)
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr("evalsvc.accounts.views.finish_claim", broken)
    assert_problem(alice.post("/v1/projects", {"name": "gone"}, Idempotency_Key="k"), "unavailable")
    monkeypatch.setattr("evalsvc.accounts.views.finish_claim", finish_claim)

    wait_until(lambda: not records(alice).exists())
    assert alice.post("/v1/projects", {"name": "gone"}, Idempotency_Key="k").status_code == 200


def crash(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Die between the claim and the commit."""

    def die(*args: Any, **kwargs: Any) -> None:
        raise Crash

    monkeypatch.setattr("evalsvc.evaluations.evaluate.captures.capture", die)
    with pytest.raises(Crash):
        caller.post("/v1/evaluate", EVALUATE, Idempotency_Key="k")
    monkeypatch.undo()


def test_a_claim_whose_process_died_ends_with_its_lease(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    crash(alice, monkeypatch)
    assert_problem(alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k"), "in_progress")

    records(alice).update(lease_expires_at="2026-01-01T00:00:00Z")
    assert_problem(
        alice.post("/v1/evaluate", EVALUATE | {"app": "other"}, Idempotency_Key="k"), "idempotency_key_reused"
    )
    first, second = (alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k") for _ in range(2))
    assert first.content == second.content
    assert len(scores_of(alice, "exact-match")) == 1


def test_a_sleeper_whose_claim_was_taken_writes_nothing(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalsvc.evaluations.evaluate import captures

    # The app is there already: otherwise the second request would wait for the first one to make it.
    alice.post("/v1/evaluate", EVALUATE)
    capture, seen = captures.capture, []

    def overtaken(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        records(alice).update(lease_expires_at="2026-01-01T00:00:00Z")
        seen.append(elsewhere(lambda: alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k")))
        return capture(*args, **kwargs)

    monkeypatch.setattr(captures, "capture", overtaken)
    assert_problem(alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k"), "in_progress")

    assert len(scores_of(alice, "exact-match")) == 2
    assert alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k").content == seen[0].content


def test_after_a_day_the_key_is_new(alice: Caller) -> None:
    alice.post("/v1/evaluate", EVALUATE, Idempotency_Key="k")
    records(alice).update(created_at="2026-01-01T00:00:00Z")

    assert "Idempotency-Replayed" not in alice.post("/v1/evaluate", EVALUATE | {"app": "new"}, Idempotency_Key="k")


@pytest.mark.parametrize("key", ["", "x" * 256, "caf\xe9", "a\tb", "a\x00b", "a\x7f"])
def test_it_refuses_a_key_that_is_none(alice: Caller, key: str) -> None:
    assert_problem(alice.post("/v1/evaluate", EVALUATE, Idempotency_Key=key), "validation_failed", "")
    assert scores_of(alice, "exact-match") == []


def test_a_key_does_not_help_a_reader(bob: Caller) -> None:
    assert_problem(bob.post("/v1/evaluate", EVALUATE, Idempotency_Key="k"), "read_only_key")
    assert not records(bob).exists()


def test_the_answer_of_accepted_work_is_kept_with_its_address(alice: Caller) -> None:
    headers = {"Idempotency_Key": "k", "Prefer": "respond-async"}
    first, second = (alice.post("/v1/evaluate", EVALUATE, **headers) for _ in range(2))

    assert (first.status_code, second.status_code) == (202, 202)
    assert first.content == second.content
    assert first["Location"] == second["Location"] == f"/v1/evaluate/{first.json()['id']}"
    assert second["Preference-Applied"] == "respond-async"


def test_a_profile_is_made_once_by_many_names_of_the_key(alice: Caller) -> None:
    for key in ("one", "two"):
        alice.post("/v1/evaluator-criteria", PROFILE, Idempotency_Key=key)

    assert Profile.objects.using("system").filter(account_id=alice.account.pk).count() == 1
    answer = alice.post("/v1/evaluator-criteria", PROFILE, Idempotency_Key="three")
    assert_problem(answer, "already_exists", "/name")
