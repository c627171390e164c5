"""Projects and apps over HTTP: made once, listed, and deleted when nothing is in them."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest
from django.db import connections, transaction

from evalsvc.accounts.models import AuditEntry
from evalsvc.evaluations.models import Evaluation
from evalsvc.projects import services
from evalsvc.projects.models import Experiment, Project
from evalsvc.projects.services import create_project, delete_project, lock_project
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import account_scope
from tests import leftovers
from tests.conftest import Caller, wait_until
from tests.factories import new_experiment
from tests.projects.sending import SAMPLE, at_once, forget
from tests.rest.shapes import assert_problem


def make(caller: Caller, name: str = "checkout") -> dict[str, Any]:
    answer = caller.post("/v1/projects", {"name": name})
    assert answer.status_code == 200, answer.content
    return answer.json()


def listed(caller: Caller, query: str = "") -> list[str]:
    return [row["name"] for row in caller.get(f"/v1/projects{query}").json()["projects"]]


def project_of(answer: Any) -> Any:
    return answer.json()["results"][0]["evaluation_result"]["project_id"]


def test_a_project_is_made_once_and_answered_bare(alice: Caller, bob: Caller) -> None:
    first, second = make(alice), make(alice)

    assert first == second
    assert set(first) == {"id", "name", "created_at", "created_by"}
    assert first["created_by"].startswith("key:")
    assert bob.get(f"/v1/projects/{first['id']}").json() == {"project": first}
    trail = AuditEntry.objects.using("system").filter(account_id=alice.account.pk, action="project.created")
    assert trail.count() == 1


def test_many_at_once_get_the_same_project(alice: Caller) -> None:
    rows = at_once(6, lambda _: make(alice))

    assert len({row["id"] for row in rows}) == 1


def test_an_evaluation_and_an_experiment_use_the_same_project(alice: Caller) -> None:
    made = make(alice)

    assert project_of(alice.post("/v1/evaluate", SAMPLE | {"project_name": "checkout"})) == made["id"]
    run = alice.post("/v1/experiments", {"name": "x", "project_id": made["id"]}).json()["experiment"]
    assert run["project_id"] == made["id"]


def test_a_project_that_an_evaluation_brought_has_no_maker(alice: Caller) -> None:
    alice.post("/v1/evaluate", SAMPLE | {"project_name": "brought"})

    assert make(alice, "brought")["created_by"] is None


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": None}, "/name"),
        ({"name": "x" * 51}, "/name"),
        ({"name": ["x"]}, "/name"),
        ({"name": "a\0b"}, "/name"),
    ],
)
def test_a_bad_name_is_refused(alice: Caller, body: Any, pointer: str) -> None:
    assert_problem(alice.post("/v1/projects", body), "validation_failed", pointer)
    assert listed(alice) == []


@pytest.mark.parametrize("name", ["x", "ü" * 50, " a ", "a/b:c", "0"])
def test_a_name_that_evaluate_takes_is_taken_here(alice: Caller, name: str) -> None:
    made = make(alice, name)

    assert made["name"] == name
    assert project_of(alice.post("/v1/evaluate", SAMPLE | {"project_name": name})) == made["id"]


def test_fields_of_newer_clients_are_ignored(alice: Caller) -> None:
    assert alice.post("/v1/projects", {"name": "x", "colour": "red"}).status_code == 200
    assert alice.get("/v1/projects?newer=1").status_code == 200


def test_lists_come_in_pages(alice: Caller, bob: Caller, charlie: Caller) -> None:
    for name in "abc":
        make(alice, name)
        alice.post("/v1/evaluate", SAMPLE | {"app": f"app {name}"})

    assert listed(bob) == ["c", "b", "a"]
    assert listed(bob, "?limit=1&offset=1") == ["b"]
    assert listed(bob, "?limit=&offset=") == ["c", "b", "a"]
    assert bob.get("/v1/apps").json() == {"apps": [{"name": "app a"}, {"name": "app b"}, {"name": "app c"}]}
    assert bob.get("/v1/apps?limit=1&offset=2").json() == {"apps": [{"name": "app c"}]}
    assert (listed(charlie), charlie.get("/v1/apps").json()) == ([], {"apps": []})


@pytest.mark.parametrize("path", ["/v1/projects", "/v1/apps"])
@pytest.mark.parametrize("query", ["limit=-1", "limit=1001", "limit=x", "offset=-1"])
def test_a_page_that_cannot_be_is_refused(alice: Caller, path: str, query: str) -> None:
    assert_problem(alice.get(f"{path}?{query}"), "validation_failed", f"/{query.partition('=')[0]}")


def test_an_empty_project_is_deleted(alice: Caller) -> None:
    made = make(alice)
    answer = alice.call("DELETE", f"/v1/projects/{made['id']}", Accept="*/*")

    assert (answer.status_code, answer.content) == (204, b"")
    assert_problem(alice.get(f"/v1/projects/{made['id']}"), "not_found")
    assert make(alice)["id"] != made["id"]


def test_a_project_in_use_stays(alice: Caller) -> None:
    run = new_experiment(alice)
    problem = assert_problem(alice.call("DELETE", f"/v1/projects/{run.project_id}"), "in_use")
    assert "1 experiment" in problem["detail"]

    used = project_of(alice.post("/v1/evaluate", SAMPLE | {"project_name": "used"}))
    problem = assert_problem(alice.call("DELETE", f"/v1/projects/{used}"), "in_use")
    assert "evaluations" in problem["detail"]
    assert alice.get(f"/v1/projects/{used}").status_code == 200

    alice.call("DELETE", f"/v1/experiments/{run.pk}")
    assert alice.call("DELETE", f"/v1/projects/{run.project_id}").status_code == 204


def test_strangers_and_readers_delete_nothing(alice: Caller, bob: Caller, charlie: Caller) -> None:
    made = make(alice)
    theirs = make(charlie)

    assert theirs["id"] != made["id"]
    assert_problem(bob.call("DELETE", f"/v1/projects/{made['id']}"), "read_only_key")
    assert_problem(bob.post("/v1/projects", {"name": "new"}), "read_only_key")
    for id in (made["id"], str(uuid.uuid4())):
        assert_problem(charlie.get(f"/v1/projects/{id}"), "not_found")
        assert_problem(charlie.call("DELETE", f"/v1/projects/{id}"), "not_found")
    assert listed(bob) == ["checkout"]


def test_a_deleted_project_is_not_used_again_by_any_process(alice: Caller) -> None:
    """Another process has the name in its memory, and hears of the deletion only by the account's epoch."""
    alice.post("/v1/evaluate", SAMPLE | {"project_name": "checkout", "capture": "all"})
    first = Project.objects.using("system").get(account_id=alice.account.pk)
    memory = services._known_projects.find((alice.account.pk, "checkout"))
    Evaluation.objects.using("system").filter(project_id=first.id).delete()
    leftovers.spoil(alice.account.pk)
    assert alice.call("DELETE", f"/v1/projects/{first.id}").status_code == 204
    assert services._known_projects.find((alice.account.pk, "checkout")) is memory  # as it is in another process

    again = project_of(alice.post("/v1/evaluate", SAMPLE | {"project_name": "checkout"}))
    assert again != str(first.id)
    assert alice.get(f"/v1/projects/{again}").status_code == 200


def test_a_project_is_remembered_under_the_epoch_it_was_read_in(alice: Caller) -> None:
    alice.post("/v1/evaluate", SAMPLE | {"project_name": "checkout"})
    known = services._known_projects.find((alice.account.pk, "checkout"))

    alice.post("/v1/evaluate", SAMPLE | {"project_name": "checkout"})
    assert services._known_projects.find((alice.account.pk, "checkout")) is known
    forget(alice)
    alice.post("/v1/projects", {"name": "checkout"})
    assert (alice.account.pk, "checkout") not in services._known_projects


def test_a_deletion_waits_for_an_experiment_that_is_being_made(alice: Caller) -> None:
    made = create_project(account=alice.account, name="checkout", actor="key:1")
    said: list[str] = []
    pid: list[int] = []

    def delete() -> None:
        try:
            with transaction.atomic():
                with connections["default"].cursor() as cursor:
                    cursor.execute("SELECT pg_backend_pid()")
                    pid.append(cursor.fetchone()[0])
                delete_project(account=alice.account, id=made.id, actor="key:1")
        except Problem as problem:
            said.append(problem.code)
        finally:
            connections.close_all()

    thread = threading.Thread(target=delete)
    with account_scope(alice.account.pk):
        assert lock_project(alice.account.pk, id=made.id, name="") == made.id
        thread.start()
        wait_until(lambda: pid and is_waiting(pid[0]))
        Experiment.objects.create(account=alice.account, project=made, name="late")
    thread.join(30)

    assert said == ["in_use"]


def is_waiting(pid: int) -> bool:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE pid = %s AND NOT granted)", [pid])
        return bool(cursor.fetchone()[0])


def test_an_experiment_in_a_project_that_is_gone_is_refused(alice: Caller, charlie: Caller) -> None:
    mine = make(alice)
    for id in (mine["id"], str(uuid.uuid4())):
        answer = charlie.post("/v1/experiments", {"name": "x", "project_id": id})
        assert_problem(answer, "validation_failed", "/project_id")
