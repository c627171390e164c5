"""`patronus-api` retries by itself, up to twice: what it repeats is there once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import Caller, scores_of
from tests.contract.lossy_proxy import FAULTS, Proxy, lossy
from tests.contract.patronus_clients import Called, connect, writing_methods
from tests.contract.patronus_exercises import LOG, PARIS
from tests.contract.patronus_prompt_exercises import pushed
from tests.telemetry.otlp import new_id, span, traces

pytestmark = [pytest.mark.usefixtures("worker"), pytest.mark.slow]

SAMPLE = PARIS | {"capture": "all"}


@pytest.fixture
def proxy(web: str) -> Iterator[Proxy]:
    with lossy(web) as one:
        yield one


@pytest.fixture
def lossy_client(kind: str, proxy: Proxy, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> Iterator[Called]:
    """Alice's client behind the proxy; of its manners, only the pause before a retry is shortened."""
    monkeypatch.setattr("patronus_api._base_client.INITIAL_RETRY_DELAY", 0.1)
    with connect(kind, proxy.url, alice.key) as one:
        yield one


def ids(client: Called) -> list[str]:
    return [row.id for row in client.evaluations.search().evaluations]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "evaluators",
    [("exact-match",), ("toxicity",), ("exact-match", "toxicity", "pii")],
    ids=["inline", "worker", "both"],
)
def test_a_retried_evaluation_counts_once(
    alice: Caller, lossy_client: Called, proxy: Proxy, fault: str, evaluators: tuple[str, ...]
) -> None:
    proxy.faults.extend([fault, fault])

    answer = lossy_client.evaluations.evaluate(**SAMPLE | {"evaluators": [{"evaluator": name} for name in evaluators]})

    assert [retry for _, _, retry in proxy.seen] == ["0", "1", "2"]
    assert [result.status for result in answer.results] == ["success"] * len(evaluators)
    assert sorted(ids(lossy_client)) == sorted(result.evaluation_result.id for result in answer.results)
    for name in evaluators:
        assert len(scores_of(alice, name)) == 1
        assert alice.get(f"/v1/history?evaluator={name}").json()["n"] == 1


def test_a_call_that_is_made_twice_counts_twice(alice: Caller, lossy_client: Called, proxy: Proxy) -> None:
    for _ in range(2):
        proxy.faults.append("error")
        lossy_client.evaluations.evaluate(**SAMPLE)

    assert len(scores_of(alice, "exact-match")) == len(ids(lossy_client)) == 2


def test_a_retry_whose_first_try_never_arrived_is_done(alice: Caller, lossy_client: Called) -> None:
    headers = {"x-stainless-retry-count": "1"}

    answer = lossy_client.evaluations.evaluate(**SAMPLE, extra_headers=headers)

    assert ids(lossy_client) == [answer.results[0].evaluation_result.id]
    assert lossy_client.projects.create(name="checkout", extra_headers=headers).name == "checkout"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_retried_batch_counts_once(alice: Caller, lossy_client: Called, proxy: Proxy, fault: str) -> None:
    proxy.faults.extend([fault, fault])
    rows = [{"evaluator_id": "mine", "log_id": LOG, "score": score} for score in (0.25, 0.75)]

    kept = lossy_client.evaluations.batch_create(evaluations=rows).evaluations

    assert [row.score for row in kept] == [0.25, 0.75]
    assert sorted(ids(lossy_client)) == sorted(row.id for row in kept)
    assert sorted(score for _, score, _ in scores_of(alice, "external:mine")) == [0.25, 0.75]


@dataclass(frozen=True)
class Change:
    """Something that changes the account: what it needs, the call, and what is there afterwards."""

    prepare: Callable[[Called], Any]
    act: Callable[[Called, Any], Any]
    left: Callable[[Called, Any], list[Any]]
    expected: list[Any]


def own_criteria(client: Called) -> Any:
    made = client.evaluator_criteria.create(evaluator_family="metrics", name="mine", config={"metric": "bleu"})
    return made.evaluator_criteria


def new_experiment(client: Called) -> Any:
    return client.experiments.create(name="July", project_id=client.projects.create(name="p").id).experiment


def captured(client: Called) -> Any:
    return client.evaluations.evaluate(**SAMPLE).results[0].evaluation_result


def revisions(client: Called, _: Any) -> list[int]:
    return [row.revision for row in client.evaluator_criteria.list(name="mine").evaluator_criteria]


def experiments(client: Called, _: Any) -> list[Any]:
    return [(row.name, row.metadata) for row in client.experiments.list().experiments]


def projects(client: Called, _: Any) -> list[str]:
    return [row.name for row in client.projects.list().projects]


def sent_span(client: Called) -> str:
    trace_id = new_id()
    client.post("/v1/traces", body=traces(span(trace_id)), cast_to=object)
    return trace_id


def labelled(client: Called) -> Any:
    made = pushed(client)
    client.prompts.set_labels(made.id, labels=["eu"])
    return made


def labelled_prompts(client: Called, _: Any) -> list[tuple[int, list[str]]]:
    return [(row.revision, row.labels) for row in client.prompts.list_revisions().prompt_revisions]


CHANGES = {
    "projects.create": Change(lambda _: None, lambda c, _: c.projects.create(name="p"), projects, ["p"]),
    "projects.delete": Change(
        lambda c: c.projects.create(name="p"), lambda c, made: c.projects.delete(made.id), projects, []
    ),
    "experiments.create": Change(
        lambda c: c.projects.create(name="p"),
        lambda c, made: c.experiments.create(name="July", project_id=made.id),
        experiments,
        [("July", None)],
    ),
    "experiments.update": Change(
        new_experiment,
        lambda c, made: c.experiments.update(made.id, metadata={"done": True}),
        experiments,
        [("July", {"done": True})],
    ),
    "experiments.delete": Change(new_experiment, lambda c, made: c.experiments.delete(made.id), experiments, []),
    "evaluator_criteria.create": Change(lambda _: None, lambda c, _: own_criteria(c), revisions, [1]),
    "evaluator_criteria.add_revision": Change(
        own_criteria,
        lambda c, made: c.evaluator_criteria.add_revision(made.public_id, config={"metric": "rougeL"}),
        revisions,
        [2, 1],
    ),
    "evaluator_criteria.archive": Change(
        own_criteria, lambda c, made: c.evaluator_criteria.archive(made.public_id), revisions, []
    ),
    "evaluations.delete": Change(captured, lambda c, made: c.evaluations.delete(int(made.id)), lambda c, _: ids(c), []),
    "evaluations.batch_delete": Change(
        captured, lambda c, _: c.evaluations.batch_delete(app="default"), lambda c, _: ids(c), []
    ),
    "otel.spans.delete": Change(
        sent_span,
        lambda c, trace_id: c.otel.spans.delete(trace_id=trace_id),
        lambda c, _: list(c.otel.spans.search().spans),
        [],
    ),
    "prompts.create_revision": Change(pushed, lambda c, _: pushed(c, "Hello!"), labelled_prompts, [(2, []), (1, [])]),
    "prompts.update_definition": Change(
        pushed,
        lambda c, made: c.prompts.update_definition(made.prompt_definition_id, name="welcome"),
        lambda c, _: [row.name for row in c.prompts.list_definitions().prompt_definitions],
        ["welcome"],
    ),
    "prompts.delete_definitions": Change(
        pushed,
        lambda c, made: c.prompts.delete_definitions(prompt_id=made.prompt_definition_id),
        labelled_prompts,
        [],
    ),
    "prompts.set_labels": Change(
        pushed, lambda c, made: c.prompts.set_labels(made.id, labels=["eu"]), labelled_prompts, [(1, ["eu"])]
    ),
    "prompts.remove_labels": Change(
        labelled, lambda c, made: c.prompts.remove_labels(made.id, labels=["eu"]), labelled_prompts, [(1, [])]
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", CHANGES)
def test_a_retried_change_is_made_once(lossy_client: Called, proxy: Proxy, name: str, fault: str) -> None:
    change = CHANGES[name]
    made = change.prepare(lossy_client)
    lossy_client.names.clear()
    proxy.faults.extend([fault, fault])

    change.act(lossy_client, made)

    assert lossy_client.names == {name}
    assert change.left(lossy_client, made) == change.expected


def test_what_is_made_twice_is_there_twice(lossy_client: Called, proxy: Proxy) -> None:
    project = lossy_client.projects.create(name="p")
    made = set()
    for _ in range(2):
        proxy.faults.append("error")
        made.add(lossy_client.experiments.create(name="July", project_id=project.id).experiment.id)

    assert {row.id for row in lossy_client.experiments.list().experiments} == made
    assert len(made) == 2


def test_every_change_is_retried_here(client: Called) -> None:
    # A job for insights is always refused.
    elsewhere = {"evaluations.evaluate", "evaluations.batch_create", "trace_insight.create_job"}

    assert writing_methods(client._target) == set(CHANGES) | elsewhere
