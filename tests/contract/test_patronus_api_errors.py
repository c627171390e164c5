"""Refusals as `patronus-api` sees them: its classes of errors, its pace, and what a stranger finds."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import patronus_api
import pytest
from django.db import connections

from evalsvc.accounts.services import change_account
from tests.conftest import Caller
from tests.contract.patronus_clients import Called, writing_methods
from tests.contract.patronus_exercises import LOG, PARIS, captured
from tests.contract.patronus_prompt_exercises import pushed

pytestmark = pytest.mark.slow

Connect = Callable[..., Called]
LIMITS = ("rpm-limit", "rpm-remaining", "monthly-limit", "monthly-remaining")


def limit(caller: Caller, rpm: int | None, monthly: int | None = None) -> None:
    account = caller.account
    change_account(account=account, name=account.name, rpm_limit=rpm, monthly_limit=monthly, actor="tests")


def body_of(caught: pytest.ExceptionInfo[patronus_api.APIStatusError]) -> dict[str, Any]:
    assert isinstance(caught.value.body, dict)
    return caught.value.body


class Naps(list[float]):
    """How long the client has slept, and what happens meanwhile."""

    during: Callable[[], None] | None = None

    def sleep(self, seconds: float) -> None:
        self.append(seconds)
        if self.during:
            # Not in a thread with an event loop, where Django refuses to work.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self.during).result()
                pool.submit(connections.close_all).result()


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> Naps:
    """The client's sleep between tries, which costs no time here."""
    slept = Naps()

    async def sleep(seconds: float) -> None:
        slept.sleep(seconds)

    monkeypatch.setattr("patronus_api._base_client.time.sleep", slept.sleep)
    monkeypatch.setattr("patronus_api._base_client.anyio.sleep", sleep)
    return slept


def test_no_key_is_no_entry(connected: Connect) -> None:
    with pytest.raises(patronus_api.AuthenticationError) as caught:
        connected(Caller(None, "ek_none.none")).whoami.retrieve()

    assert caught.value.response.headers["WWW-Authenticate"].startswith("Bearer")
    assert body_of(caught)["code"] == "unauthenticated"


def test_an_access_token_is_as_good_as_a_key(connected: Connect, alice: Caller) -> None:
    client = connected(alice, api_key=None, access_token=alice.key)

    assert client.whoami.retrieve().caller.api_key.account.id == str(alice.account.pk)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"evaluators": []}, "/evaluators"),
        ({"task_input": None, "task_output": None}, "/evaluated_model_output"),
        ({"task_context": ["x"] * 51}, "/task_context"),
        ({"app": "x"}, "/app"),
        ({"app": "xx", "experiment_id": "1"}, "/app"),
        ({"experiment_id": "12"}, "/experiment_id"),
        ({"capture": "all", "project_id": str(uuid.UUID(int=0))}, "/project_id"),
        ({"capture": "some"}, "/capture"),
        ({"evaluated_model_attachments": [{"media_type": "image/png"}]}, "/evaluated_model_attachments/0"),
        ({"tags": ["a"]}, "/tags"),
    ],
    ids=str,
)
def test_what_cannot_be_accepted_is_pointed_to(client: Called, fields: dict[str, Any], pointer: str) -> None:
    with pytest.raises(patronus_api.UnprocessableEntityError) as caught:
        client.evaluations.evaluate(**PARIS | fields)

    assert [error["pointer"] for error in body_of(caught)["errors"]] == [pointer]
    assert client.evaluations.search().evaluations == []


def test_a_name_taken_is_422_so_that_it_is_not_retried(client: Called) -> None:
    body: dict[str, Any] = {"evaluator_family": "metrics", "name": "mine", "config": {"metric": "bleu"}}
    client.evaluator_criteria.create(**body)

    with pytest.raises(patronus_api.UnprocessableEntityError) as caught:
        client.evaluator_criteria.create(**body | {"description": "Again."})

    assert body_of(caught)["code"] == "already_exists"


def test_a_deletion_names_what_it_deletes(client: Called) -> None:
    captured(client)

    with pytest.raises(patronus_api.UnprocessableEntityError):
        client.evaluations.batch_delete()
    with pytest.raises(patronus_api.UnprocessableEntityError):
        client.evaluations.batch_delete(batch_size=10)

    assert len(client.evaluations.search().evaluations) == 1


@pytest.mark.parametrize("n_retries", [0, 1])
def test_429_says_when_to_come_back(connected: Connect, alice: Caller, n_retries: int, naps: Naps) -> None:
    client = connected(alice, max_retries=n_retries)
    limit(alice, rpm=0)

    with pytest.raises(patronus_api.RateLimitError) as caught:
        client.whoami.retrieve()

    headers = caught.value.response.headers
    assert 1 <= int(headers["Retry-After"]) <= 60
    assert [headers[f"x-ratelimit-{name}-requests"] for name in LIMITS[:2]] == ["0", "0"]
    assert int(headers["x-ratelimit-monthly-remaining-requests"]) > 0
    # A second may pass between the client's two tries, a whole minute not.
    assert len(naps) == n_retries
    assert all(nap >= int(headers["Retry-After"]) for nap in naps) or int(headers["Retry-After"]) > 58


def test_it_waits_as_told_and_then_succeeds(connected: Connect, alice: Caller, naps: Naps) -> None:
    client = connected(alice)
    limit(alice, rpm=0)
    naps.during = lambda: limit(alice, rpm=None)

    assert client.whoami.retrieve().caller.api_key

    (nap,) = naps
    assert 1 <= nap <= 60
    assert nap == int(nap)


def test_every_answer_says_what_the_limit_has_left(client: Called) -> None:
    answers = [client.evaluations.with_raw_response.evaluate(**PARIS) for _ in range(2)]
    answers.append(client.evaluations.with_raw_response.search())

    told = [[int(answer.headers[f"x-ratelimit-{name}-requests"]) for name in LIMITS] for answer in answers]
    assert told[0][0] == told[1][0] > told[1][1]
    assert [row[3] for row in told] == [told[0][3], told[0][3] - 1, told[0][3] - 2]


BY_ID = (
    *("evaluations.retrieve", "evaluations.delete", "experiments.retrieve", "experiments.update", "experiments.delete"),
    *("projects.retrieve", "projects.delete", "evaluator_criteria.add_revision", "evaluator_criteria.archive"),
)
ARGUMENTS: dict[str, dict[str, Any]] = {
    "experiments.update": {"metadata": {}},
    "evaluator_criteria.add_revision": {"config": {"metric": "bleu"}},
}


@pytest.fixture
def hers(client: Called) -> dict[str, Any]:
    """An id of each of Alice's things, by resource."""
    project = client.projects.create(name="secret")
    experiment = client.experiments.create(name="July", project_id=project.id).experiment
    criteria = client.evaluator_criteria.create(evaluator_family="metrics", name="own", config={"metric": "bleu"})
    verdict = captured(client, app="secret", project_id=project.id, log_id=LOG)
    return {
        "evaluations": int(verdict.id),
        "experiments": experiment.id,
        "projects": project.id,
        "evaluator_criteria": criteria.evaluator_criteria.public_id,
    }


def call(client: Called, name: str, id: Any) -> Any:
    resource, _, method = name.partition(".")
    return getattr(getattr(client, resource), method)(id, **ARGUMENTS.get(name, {}))


@pytest.mark.parametrize("name", BY_ID)
def test_a_stranger_s_id_is_a_missing_one(stranger: Called, client: Called, hers: dict[str, Any], name: str) -> None:
    id = hers[name.partition(".")[0]]
    missing = 12345 if isinstance(id, int) else "12345" if id.isdigit() else str(uuid.UUID(int=5))
    bodies = []
    for wanted in (id, missing):
        with pytest.raises(patronus_api.NotFoundError) as caught:
            call(stranger, name, wanted)
        bodies.append(body_of(caught) | {"request_id": ""})

    assert bodies[0] == bodies[1]
    assert client.evaluations.retrieve(hers["evaluations"]).evaluation.app == "secret"
    assert client.experiments.retrieve(hers["experiments"]).experiment.name == "July"


def test_a_stranger_s_lists_are_empty(stranger: Called, hers: dict[str, Any]) -> None:
    assert stranger.apps.list().apps == stranger.projects.list().projects == []
    assert stranger.experiments.list(project_id=hers["projects"]).experiments == []
    assert stranger.evaluator_criteria.list(public_id=hers["evaluator_criteria"]).evaluator_criteria == []
    assert stranger.evaluator_criteria.list(name="own").evaluator_criteria == []
    assert stranger.evaluations.search(log_id_in=[LOG]).evaluations == []
    by_id = {"field": "id", "operation": "eq", "value": str(hers["evaluations"])}
    assert stranger.evaluations.search(filters=[by_id]).evaluations == []


def test_a_stranger_cannot_use_her_things(stranger: Called, client: Called, hers: dict[str, Any]) -> None:
    with pytest.raises(patronus_api.UnprocessableEntityError):
        stranger.evaluations.evaluate(**PARIS, experiment_id=hers["experiments"])
    with pytest.raises(patronus_api.UnprocessableEntityError):
        stranger.evaluations.evaluate(**PARIS, capture="all", project_id=hers["projects"])
    with pytest.raises(patronus_api.UnprocessableEntityError):
        stranger.experiments.create(name="July", project_id=hers["projects"])
    (result,) = stranger.evaluations.evaluate(
        **PARIS | {"evaluators": [{"evaluator": "metrics", "criteria": "own"}]}
    ).results
    assert result.status == "validation_error"
    assert stranger.projects.create(name="secret").id != hers["projects"]
    row = {"evaluator_id": "mine", "log_id": LOG, "pass": True, "experiment_id": hers["experiments"]}
    assert stranger.evaluations.batch_create(evaluations=[row]).evaluations == []
    stranger.evaluations.batch_delete(app="secret")
    assert len(client.evaluations.search().evaluations) == 1


NO_ID = "00000000-0000-0000-0000-000000000000"
WRITES: dict[str, Callable[[Called, dict[str, Any]], Any]] = {
    **{name: (lambda c, ids, name=name: call(c, name, ids[name.partition(".")[0]])) for name in BY_ID},
    "evaluations.evaluate": lambda c, _: c.evaluations.evaluate(**PARIS),
    "evaluations.batch_create": lambda c, _: c.evaluations.batch_create(evaluations=[]),
    "evaluations.batch_delete": lambda c, _: c.evaluations.batch_delete(app="secret"),
    "evaluator_criteria.create": lambda c, _: c.evaluator_criteria.create(evaluator_family="a", name="b", config={}),
    "experiments.create": lambda c, ids: c.experiments.create(name="June", project_id=ids["projects"]),
    "projects.create": lambda c, _: c.projects.create(name="other"),
    "otel.spans.delete": lambda c, _: c.otel.spans.delete(trace_id="secret"),
    "prompts.create_revision": lambda c, _: pushed(c),
    "prompts.update_definition": lambda c, _: c.prompts.update_definition(NO_ID, name="other"),
    "prompts.delete_definitions": lambda c, _: c.prompts.delete_definitions(prompt_id=NO_ID),
    "prompts.set_labels": lambda c, _: c.prompts.set_labels(NO_ID, labels=["production"]),
    "prompts.remove_labels": lambda c, _: c.prompts.remove_labels(NO_ID, labels=["production"]),
    "trace_insight.create_job": lambda c, _: c.trace_insight.create_job(trace_id="secret"),
}
READS = {name for name in BY_ID if name.endswith("retrieve")}


def test_every_write_is_tried_with_a_key_that_only_reads(client: Called) -> None:
    assert writing_methods(client._target) == set(WRITES) - READS


@pytest.mark.parametrize("name", WRITES)
def test_a_key_that_only_reads(connected: Connect, bob: Caller, hers: dict[str, Any], name: str) -> None:
    reader = connected(bob)
    if name in READS:
        assert WRITES[name](reader, hers)
        return
    with pytest.raises(patronus_api.PermissionDeniedError) as caught:
        WRITES[name](reader, hers)

    assert body_of(caught)["code"] == "read_only_key"
    assert reader.evaluations.search().evaluations[0].app == "secret"
