"""What happens at the same time: evaluations and the deletion of their project, and new names in every order."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections

from evalsvc.evaluations.evaluate import captures
from evalsvc.evaluations.models import Evaluation
from evalsvc.projects.services import delete_project, remember_app, remember_project
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import account_scope
from tests import leftovers
from tests.conftest import Caller, findings, wait_until
from tests.projects.sending import SAMPLE

CALL = ("/v1/evaluate", SAMPLE | {"project_name": "checkout"})
BATCH = (
    "/v1/evaluations/batch",
    {"evaluations": [{"evaluator_id": "mine", "log_id": str(uuid.uuid4()), "score": 1, "project_name": "checkout"}]},
)
BOTH = pytest.mark.parametrize(("path", "body"), [CALL, BATCH], ids=["call", "batch"])


def places(caller: Caller) -> list[uuid.UUID | None]:
    rows = Evaluation.objects.using("system").filter(account_id=caller.account.pk)
    return list(rows.values_list("project_id", flat=True))


class Meanwhile:
    """Work in another thread, with connections of its own; what it returned, or how it was refused."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._said: list[Any] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._said.append(self._work())
        except Problem as problem:
            self._said.append(problem.code)
        finally:
            connections.close_all()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def result(self) -> Any:
        self._thread.join(30)
        (said,) = self._said
        return said


def somebody_waits_for(pid: int) -> bool:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid)))", [pid])
        return bool(cursor.fetchone()[0])


def my_pid() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize("named", ["by name", "by id"])
def test_what_is_captured_after_the_deletion_is_in_no_project(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    project_id = alice.post("/v1/projects", {"name": "checkout"}).json()["id"]
    capture = captures.capture

    def too_late(account_id: int, *args: Any, **kwargs: Any) -> captures.CaptureResult:
        delete_project(account=alice.account, id=uuid.UUID(project_id), actor="key:1")
        return capture(account_id, *args, **kwargs)

    monkeypatch.setattr(captures, "capture", too_late)
    place = {"project_name": "checkout"} if named == "by name" else {"project_id": project_id}
    assert alice.post("/v1/evaluate", SAMPLE | place).status_code == 200

    assert places(alice) == [None]
    assert findings(alice) == {}


@BOTH
def test_a_deletion_waits_for_what_is_being_kept(alice: Caller, path: str, body: Any) -> None:
    project_id = uuid.UUID(alice.post("/v1/projects", {"name": "checkout"}).json()["id"])

    with account_scope(alice.account.pk):
        assert alice.post(path, body).status_code == 200
        deletion = Meanwhile(lambda: delete_project(account=alice.account, id=project_id, actor="key:1"))
        wait_until(lambda: deletion.has_ended or somebody_waits_for(my_pid()))

    assert deletion.result() == "in_use"
    assert places(alice) == [project_id]


@BOTH
def test_what_is_kept_waits_for_a_deletion(alice: Caller, path: str, body: Any) -> None:
    alice.post("/v1/projects", {"name": "checkout"})
    alice.post(path, body | ({"output": "first"} if path == "/v1/evaluate" else {}))
    Evaluation.objects.using("system").filter(account_id=alice.account.pk).delete()
    leftovers.spoil(alice.account.pk)
    old = remember_project(alice.account.pk, "checkout")

    with account_scope(alice.account.pk):
        delete_project(account=alice.account, id=old, actor="key:1")
        keeping = Meanwhile(lambda: alice.post(path, body).status_code)
        wait_until(lambda: keeping.has_ended or somebody_waits_for(my_pid()))

    assert keeping.result() == 200
    assert old not in places(alice)


def test_a_batch_and_a_call_that_bring_the_same_names_do_not_wait_for_each_other(alice: Caller) -> None:
    rows = [{"app": "new"}, {"app": "old", "project_name": "checkout"}]
    score = {"evaluator_id": "mine", "score": 1}
    batch = {"evaluations": [score | row | {"log_id": str(uuid.uuid4())} for row in rows]}

    with account_scope(alice.account.pk):
        # As a call does that names its log: the project, then the app, in one transaction.
        remember_project(alice.account.pk, "checkout")
        sent = Meanwhile(lambda: alice.post("/v1/evaluations/batch", batch).status_code)
        wait_until(lambda: sent.has_ended or somebody_waits_for(my_pid()))
        remember_app(alice.account.pk, "new")

    assert sent.result() == 200
