"""The package `patronus`, unmodified, against a running service: remote and local evaluators, their export, retries."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import pytest
from patronus import AsyncPatronus, EvaluationResult, Patronus, StructuredEvaluator, context, evaluator
from patronus.api import api_types as types
from patronus.api.api_client_base import RetryError
from patronus.evals import AsyncRemoteEvaluator, RemoteEvaluator, bundled_eval

from tests.conftest import Caller, scores_of, wait_until
from tests.contract.patronus_sdk import initialised, losing_proxy
from tests.factories import make_profile

pytestmark = pytest.mark.usefixtures("worker")

PARIS = {"task_input": "The capital of France?", "task_output": "Paris", "gold_answer": "Paris"}


@pytest.fixture
def sdk(web: str, alice: Caller) -> Iterator[context.PatronusContext]:
    """The package as Alice has initialised it."""
    with initialised(web, alice.key) as ctx:
        yield ctx


def evaluate(kind: type[RemoteEvaluator] | type[AsyncRemoteEvaluator], *args: Any, **options: Any) -> EvaluationResult:
    """Make a remote evaluator of either kind and ask it about Paris, or about what `asked` holds."""
    asked = options.pop("asked", PARIS)
    one = kind(*args, **options)
    if kind is AsyncRemoteEvaluator:
        return asyncio.run(one.evaluate(**asked))
    # An evaluator that raises leaves its log behind for what comes next in its context, which would be the next test.
    return copy_context().run(one.evaluate, **asked)


BOTH_KINDS = pytest.mark.parametrize("kind", [RemoteEvaluator, AsyncRemoteEvaluator], ids=["sync", "async"])


def stored(caller: Caller, **where: Any) -> list[dict[str, Any]]:
    """Search for evaluations, oldest first."""
    filters = [{"field": name, "operation": "eq", "value": value} for name, value in where.items()]
    answer = caller.post("/v1/evaluations/search", {"filters": filters})
    assert answer.status_code == 200, answer.content
    return sorted(answer.json()["evaluations"], key=lambda row: int(row["id"]))


def own_criteria(caller: Caller, name: str = "close", threshold: float = 0.5) -> str:
    """Keep settings under a name of Alice's; return their public id."""
    return str(make_profile(caller, "metrics", name, metric="rougeL", pass_threshold=threshold)["public_id"])


@BOTH_KINDS
def test_an_evaluator_is_named_by_alias_or_id(sdk: Any, alice: Caller, kind: Any) -> None:
    by_alias = kind("exact-match")
    first = asyncio.run(by_alias.evaluate(**PARIS)) if kind is AsyncRemoteEvaluator else by_alias.evaluate(**PARIS)
    second = evaluate(kind, by_alias.get_evaluator_id())

    assert by_alias.canonical_name.startswith("exact-match-20")
    assert (first.pass_, first.score, second.pass_) == (True, 1.0, True)
    assert len(scores_of(alice, "exact-match")) == 2


@BOTH_KINDS
@pytest.mark.parametrize(
    ("criteria", "name"),
    [
        ("close", "close"),
        ("close:1", "close"),
        ("patronus:exact-match", "patronus:exact-match"),
        ("patronus:exact-match:1", "patronus:exact-match"),
        (None, "patronus:exact-match"),
    ],
    ids=["own", "own-revision", "managed", "managed-revision", "default"],
)
def test_criteria_have_many_spellings(sdk: Any, alice: Caller, kind: Any, criteria: str | None, name: str) -> None:
    own_criteria(alice)
    result = evaluate(kind, "metrics" if name == "close" else "exact-match", criteria)

    assert (result.pass_, result.score) == (True, 1.0)
    assert [profile for profile, *_ in scores_of(alice, "")] == [name]


@BOTH_KINDS
def test_a_revision_is_pinned_when_the_evaluator_is_loaded(sdk: Any, alice: Caller, kind: Any) -> None:
    public_id = own_criteria(alice)
    one = kind("metrics", "close")
    loaded = asyncio.run(one.load()) if kind is AsyncRemoteEvaluator else one.load()
    alice.post(f"/v1/evaluator-criteria/{public_id}/revision", {"config": {"metric": "rougeL", "pass_threshold": 0.9}})

    assert loaded.get_criteria() == "close:1"
    assert [row.pass_ for row in (evaluate(kind, "metrics", c, asked=NEARLY) for c in ("close:1", "close"))] == [
        True,
        False,
    ]


NEARLY = {"task_output": "the cat sat on the mat", "gold_answer": "the cat sat on a mat"}


@pytest.mark.parametrize(
    ("name", "criteria", "message"),
    [("nonsense", None, "not found"), ("exact-match", "nonsense", "not found")],
    ids=["evaluator", "criteria"],
)
def test_what_is_not_there_is_said_before_anything_is_asked(
    sdk: Any, name: str, criteria: str | None, message: str
) -> None:
    with pytest.raises(RuntimeError, match=message):
        RemoteEvaluator(name, criteria).load()


@pytest.mark.parametrize(
    ("strategy", "explained"),
    [("always", (True, True)), ("never", (False, False)), ("on-fail", (False, True)), ("on-success", (True, False))],
)
def test_explanations_come_as_asked(sdk: Any, strategy: Any, explained: tuple[bool, bool]) -> None:
    found = [
        evaluate(RemoteEvaluator, "pii", explain_strategy=strategy, asked={"task_output": text})
        for text in ("Good morning.", "Write to jo@example.com")
    ]

    assert [row.pass_ for row in found] == [True, False]
    assert tuple(row.explanation is not None for row in found) == explained


def test_tags_and_places_are_kept(sdk: Any, alice: Caller) -> None:
    result = evaluate(RemoteEvaluator, "exact-match", tags={"team": "a"})
    [row] = stored(alice, evaluator_family="exact-match")

    assert result.tags == row["tags"] == {"team": "a"}
    assert row["app"] == "shop"
    [project] = alice.get("/v1/projects").json()["projects"]
    assert (project["name"], row["project_id"]) == ("sdk", project["id"])


def test_a_log_id_and_a_trace_id_lead_to_what_was_judged(sdk: Any, alice: Caller, charlie: Caller) -> None:
    evaluate(RemoteEvaluator, "exact-match")
    assert sdk.tracer_provider.force_flush()
    assert sdk.logger_provider.force_flush()
    [row] = stored(alice, evaluator_family="exact-match")

    log = wait_until(lambda: found_at(alice, f"/v1/logs/{row['log_id']}"))
    assert log["log"]["body"] == PARIS | {}
    trace = wait_until(lambda: found_at(alice, f"/v1/traces/{row['trace_id']}"))
    assert row["span_id"] in {span["span_id"] for span in trace["spans"]}
    assert charlie.get(f"/v1/logs/{row['log_id']}").status_code == 404
    assert charlie.get(f"/v1/traces/{row['trace_id']}").status_code == 404


def found_at(caller: Caller, path: str) -> Any:
    answer = caller.get(path)
    return answer.json() if answer.status_code == 200 else None


@BOTH_KINDS
def test_what_a_retry_cannot_mend_is_not_retried(sdk: Any, web: str, alice: Caller, kind: Any) -> None:
    with (
        losing_proxy(web) as proxy,
        initialised(proxy.url, alice.key, otel_endpoint=web),
        pytest.raises(RetryError, match="missing_input"),
    ):
        evaluate(kind, "exact-match", asked={"task_output": "Paris"})

    assert len(proxy.bodies("/v1/evaluate")) == 1
    assert scores_of(alice, "") == []


@BOTH_KINDS
def test_a_lost_answer_counts_once(web: str, alice: Caller, kind: Any) -> None:
    """The client sends the same body again and does not say so; the log and the span in it do."""
    with losing_proxy(web, n_to_lose=2) as proxy, initialised(proxy.url, alice.key, otel_endpoint=web):
        result = evaluate(kind, "exact-match", retry_initial_delay=0.01)

    sent = proxy.bodies("/v1/evaluate")
    assert len(sent) == 3
    assert len(set(sent)) == 1
    assert result.pass_ is True
    assert len(scores_of(alice, "exact-match")) == 1
    assert len(stored(alice, evaluator_family="exact-match")) == 1


def test_a_lost_answer_of_a_worker_counts_once(web: str, alice: Caller) -> None:
    with losing_proxy(web, n_to_lose=1) as proxy, initialised(proxy.url, alice.key, otel_endpoint=web):
        evaluate(RemoteEvaluator, "toxicity", retry_initial_delay=0.01, asked={"task_output": "Good morning."})

    assert len(proxy.bodies("/v1/evaluate")) == 2
    assert len(scores_of(alice, "toxicity")) == 1


def test_asking_twice_is_not_a_retry(sdk: Any, alice: Caller) -> None:
    for _ in range(2):
        evaluate(RemoteEvaluator, "exact-match")
    with bundled_eval():
        for _ in range(2):
            evaluate(RemoteEvaluator, "exact-match")

    assert len(scores_of(alice, "exact-match")) == 4


def test_without_init_no_call_says_which_log_it_is_about(web: str, alice: Caller) -> None:
    """So there a lost answer counts twice: the page for users says it."""
    with losing_proxy(web) as proxy, initialised(proxy.url, alice.key, otel_endpoint=web) as ctx:
        api = ctx.api_client_deprecated
        with context._CTX_PAT.using(None):
            evaluate(RemoteEvaluator, "exact-match", api_=api)

    [body] = map(json.loads, proxy.bodies("/v1/evaluate"))
    assert (body["log_id"], body["span_id"]) == (None, "0" * 16)


@evaluator()
def is_short(task_output: str) -> bool:
    """Say whether it is one word."""
    return " " not in task_output


@evaluator(evaluator_id="n-words", criteria="plain", metric_name="words")
def n_words(task_output: str) -> float:
    """Count its words."""
    return float(len(task_output.split()))


class Greets(StructuredEvaluator):
    """Whether it begins with a greeting."""

    evaluator_id = "greets"

    def evaluate(self, *, task_output: str | None = None, **kwargs: Any) -> EvaluationResult:
        """Look at the first word."""
        return EvaluationResult(
            pass_=True, score=0.9, text_output="polite", explanation="Hello.", tags={"team": "a"}, metadata={"words": 2}
        )


def test_local_evaluators_are_exported(sdk: Any, alice: Caller) -> None:
    with bundled_eval():
        is_short("Paris")
        n_words("Good morning")
        Greets().evaluate(task_output="Hello there")
    assert sdk.exporter.force_flush(30)
    rows = {row["evaluator_id"]: row for row in stored(alice)}

    assert set(rows) == {"external:is_short", "external:n-words", "external:greets"}
    assert (rows["external:is_short"]["pass"], rows["external:is_short"]["score"]) == (True, 1.0)
    words = rows["external:n-words"]
    assert (words["score"], words["criteria"], words["metric_name"]) == (2.0, "plain", "words")
    greets = rows["external:greets"]
    assert (greets["text_output"], greets["tags"], greets["metadata"]) == ("polite", {"team": "a"}, {"words": 2})
    assert {row["app"] for row in rows.values()} == {"shop"}
    assert len({row["trace_id"] for row in rows.values()}) == 1


def test_shutdown_exports_what_is_left(web: str, alice: Caller) -> None:
    with initialised(web, alice.key):
        for _ in range(120):
            is_short("Paris")

    assert len(scores_of(alice, "external:is_short")) == 120


def client_score(**fields: Any) -> types.ClientEvaluation:
    return types.ClientEvaluation(**{"log_id": uuid.uuid4(), "evaluator_id": "own", "score": 0.5} | fields)


def test_one_bad_row_does_not_hold_up_the_exporter(sdk: Any, alice: Caller, caplog: pytest.LogCaptureFixture) -> None:
    """The exporter sends a refused batch again for ever, and the process could not end."""
    bad = [client_score(score=float("nan")), client_score(score=None), client_score(app="x"), client_score(criteria="")]
    bad += [client_score(experiment_id="none"), client_score(project_id="none")]
    with caplog.at_level(logging.ERROR, logger="patronus.core"):
        for row in [*bad[:3], client_score(), *bad[3:], client_score(score=0.75)]:
            sdk.exporter.submit(row)
        assert sdk.exporter.force_flush(30)

    assert caplog.records == []
    assert [score for _, score, _ in scores_of(alice, "external:own")] == [0.5, 0.75]


def test_a_batch_whose_answer_is_lost_is_kept_once(web: str, alice: Caller) -> None:
    path = "/v1/evaluations/batch"
    with (
        losing_proxy(web, path=path, n_to_lose=1) as proxy,
        initialised(proxy.url, alice.key, otel_endpoint=web) as ctx,
    ):
        for score in (0.25, 0.5):
            ctx.exporter.submit(client_score(score=score))
        assert ctx.exporter.force_flush(30)

    assert len(proxy.bodies(path)) == 2
    assert sorted(score for _, score, _ in scores_of(alice, "external:own")) == [0.25, 0.5]


def test_several_evaluators_at_once(sdk: Any, alice: Caller) -> None:
    with Patronus(workers=4) as client:
        found = client.evaluate([RemoteEvaluator("exact-match"), ("pii", "patronus:detect-pii"), Greets()], **PARIS)
        later = client.evaluate_bg([RemoteEvaluator("exact-match"), RemoteEvaluator("nonsense")], **PARIS).get(60)

    assert found.all_succeeded()
    assert len(found.results) == 3
    assert later.has_exception()
    assert [row.pass_ for row in later.succeeded_evaluations()] == [True]
    # What was asked about one sample is one log, whoever was asked.
    logs = {row["log_id"] for row in stored(alice) if row["evaluator_family"] != "exact-match"}
    assert len(scores_of(alice, "exact-match")) == 2
    assert len(logs) == 1


def test_several_evaluators_at_once_without_threads(sdk: Any, alice: Caller) -> None:
    async def ask() -> tuple[Any, Any]:
        async with AsyncPatronus() as client:
            wanted = [AsyncRemoteEvaluator("exact-match"), {"evaluator_id": "pii", "criteria": "patronus:detect-pii"}]
            found = await client.evaluate(wanted, **PARIS)
            return found, await client.evaluate_bg([AsyncRemoteEvaluator("exact-match")], **PARIS)

    found, later = asyncio.run(ask())

    assert (found.all_succeeded(), later.all_succeeded()) == (True, True)
    assert len(scores_of(alice, "")) == 3
