"""Where a captured request lands: app, project, experiment."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from evalsvc.projects.models import App, Project
from tests.conftest import Caller
from tests.factories import new_experiment
from tests.rest.shapes import assert_problem

SAMPLE = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris"}


def names(model: Any, caller: Caller) -> list[str]:
    return list(model.objects.using("system").filter(account_id=caller.account.pk).values_list("name", flat=True))


def place(caller: Caller, **fields: Any) -> dict[str, Any]:
    """Return the place of a captured request as the answer and as the stored evaluation say it."""
    result = caller.post("/v1/evaluate", SAMPLE | fields).json()["results"][0]["evaluation_result"]
    stored = caller.get(f"/v1/evaluations/{result['id']}").json()["evaluation"]
    assert [stored[name] for name in ("project_id", "app")] == [result[name] for name in ("project_id", "app")]
    assert str(stored["experiment_id"]) == str(result["experiment_id"])
    return result


def test_an_app_is_made_the_first_time_it_is_named(alice: Caller) -> None:
    assert place(alice, app="shop")["app"] == "shop"
    assert place(alice, app="shop")["app"] == "shop"
    assert names(App, alice) == ["shop"]


def test_the_app_is_default_when_capture_is_asked_for_without_one(alice: Caller) -> None:
    assert place(alice, capture="all")["app"] == "default"


def test_a_project_is_made_by_name_and_its_name_outranks_its_id(alice: Caller) -> None:
    first = place(alice, app="shop", project_name="checkout")
    second = place(alice, app="shop", project_name="checkout", project_id=str(uuid.uuid4()))

    assert first["project_id"] == second["project_id"]
    assert names(Project, alice) == ["checkout"]
    assert place(alice, app="shop", project_id=first["project_id"])["project_id"] == first["project_id"]


def test_an_experiment_brings_its_project_and_no_app(alice: Caller) -> None:
    experiment = new_experiment(alice)
    result = place(alice, experiment_id=str(experiment.pk), project_name="ignored")

    assert result["app"] is None
    assert result["experiment_id"] == str(experiment.pk)
    assert result["project_id"] == str(experiment.project_id)
    assert place(alice, experiment_id=experiment.pk)["experiment_id"] == str(experiment.pk)
    assert names(App, alice) == []
    (first, *_) = alice.post("/v1/evaluations/search", {"filters": []}).json()["evaluations"]
    assert (first["experiment_id"], first["experiment_id_str"]) == (experiment.pk, str(experiment.pk))


@pytest.mark.parametrize("field", ["experiment_id", "project_id"])
def test_it_hides_other_accounts(alice: Caller, charlie: Caller, field: str) -> None:
    experiment = new_experiment(alice)
    foreign = {"experiment_id": str(experiment.pk), "project_id": str(experiment.project_id)}
    missing = {"experiment_id": "12", "project_id": str(uuid.uuid4())}

    bodies = []
    for value in (foreign[field], missing[field]):
        answer = charlie.post("/v1/evaluate", SAMPLE | {"capture": "all", field: value})
        bodies.append(assert_problem(answer, "validation_failed", f"/{field}") | {"request_id": ""})
    assert bodies[0] == bodies[1]


def test_a_refused_project_leaves_no_app(alice: Caller) -> None:
    body = SAMPLE | {"app": "new", "project_id": str(uuid.uuid4())}

    assert_problem(alice.post("/v1/evaluate", body), "validation_failed", "/project_id")
    assert names(App, alice) == []


@pytest.mark.parametrize(
    ("model", "fields"), [(App, {"app": "first"}), (Project, {"app": "shop", "project_name": "first"})]
)
def test_a_rolled_back_request_is_not_remembered(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, model: Any, fields: dict[str, str]
) -> None:
    """A name noted in a transaction that failed would be taken for a row for as long as the process lives."""
    monkeypatch.setattr("evalsvc.evaluations.evaluate.captures.capture", broken)
    assert alice.post("/v1/evaluate", SAMPLE | fields, Idempotency_Key="k").status_code == 500
    assert names(model, alice) == []

    monkeypatch.undo()
    assert place(alice, **fields)["app"] == fields["app"]
    assert names(model, alice) == ["first"]


def broken(*args: Any, **kwargs: Any) -> Callable[[], None]:
    raise RuntimeError("broken")


def test_two_accounts_have_their_own(alice: Caller, charlie: Caller) -> None:
    mine, theirs = (place(caller, app="shop", project_name="checkout") for caller in (alice, charlie))

    assert mine["project_id"] != theirs["project_id"]
    assert names(App, alice) == names(App, charlie) == ["shop"]
