"""Pages by offset of lists whose newest row comes first: what is added between two pages shows nothing twice."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from redis.exceptions import ConnectionError as NoConnection

from evalsvc.rest.answering import offsets
from tests.conftest import Caller


def add_dataset(caller: Caller) -> Any:
    return caller.post("/v1/datasets", {"dataset_name": uuid.uuid4().hex, "examples": [{"input": "x"}]})


def add_project(caller: Caller) -> Any:
    return caller.post("/v1/projects", {"name": uuid.uuid4().hex})


def add_experiment(caller: Caller) -> Any:
    return caller.post("/v1/experiments", {"name": uuid.uuid4().hex, "project_name": "p"})


def add_prompt(caller: Caller) -> Any:
    body = {"project_name": "p", "prompt_name": uuid.uuid4().hex, "body": "b"}
    return caller.post("/v1/prompt-revisions", body)


def add_question(caller: Caller) -> Any:
    body = {"project_id": add_project(caller).json()["id"], "name": uuid.uuid4().hex, "annotation_type": "binary"}
    return caller.post("/v1/annotation-criteria", body)


LISTS: list[tuple[str, str, Callable[[Caller], Any]]] = [
    ("/v1/datasets", "datasets", add_dataset),
    ("/v1/projects", "projects", add_project),
    ("/v1/experiments", "experiments", add_experiment),
    ("/v1/prompt-definitions", "prompt_definitions", add_prompt),
    ("/v1/prompt-revisions", "prompt_revisions", add_prompt),
    ("/v1/annotation-criteria", "annotation_criteria", add_question),
]


def listed(caller: Caller, path: str, key: str) -> list[str]:
    return [row["id"] for row in caller.get(path).json()[key]]


@pytest.mark.parametrize(("path", "key", "add"), LISTS, ids=[key for _, key, _ in LISTS])
def test_rows_added_between_two_pages_shift_nothing(
    alice: Caller, path: str, key: str, add: Callable[[Caller], Any]
) -> None:
    for _ in range(4):
        assert add(alice).status_code == 200
    before = listed(alice, path, key)
    first = listed(alice, f"{path}?limit=2", key)
    added = [add(alice), add(alice)]
    second = listed(alice, f"{path}?limit=2&offset=2", key)

    assert all(answer.status_code == 200 for answer in added)
    assert first + second == before
    assert len(listed(alice, f"{path}?limit=10", key)) == 6


def test_versions_do_not_shift(alice: Caller) -> None:
    dataset = add_dataset(alice).json()["dataset_id"]
    path = f"/v1/datasets/{dataset}/versions"
    for n in range(3):
        alice.post(path, {"examples": [{"input": str(n)}]})
    alice.get(f"{path}?limit=2")
    alice.post(path, {"examples": [{"input": "new"}]})

    assert [row["number"] for row in alice.get(f"{path}?limit=2&offset=2").json()["versions"]] == [2, 1]


def test_another_reader_begins_a_list_of_its_own(alice: Caller, bob: Caller) -> None:
    for _ in range(3):
        add_dataset(alice)
    alice.get("/v1/datasets?limit=1")
    bob.get("/v1/datasets?limit=1&type=User%20Managed")
    add_dataset(alice)

    assert len(listed(bob, "/v1/datasets?limit=10&offset=1", "datasets")) == 3


def test_without_redis_a_list_is_answered(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise NoConnection("down")

    add_dataset(alice)
    add_dataset(alice)
    monkeypatch.setattr(offsets, "get_shared_client", fail)

    assert len(listed(alice, "/v1/datasets?limit=1", "datasets")) == 1
    assert len(listed(alice, "/v1/datasets?limit=1&offset=1", "datasets")) == 1


def test_profiles_do_not_shift(alice: Caller) -> None:
    def add() -> None:
        body = {"evaluator_family": "judge", "name": uuid.uuid4().hex, "config": {"pass_criteria": "Be kind."}}
        assert alice.post("/v1/evaluator-criteria", body).status_code == 200

    def page(query: str) -> list[tuple[str, int]]:
        rows = alice.get(f"/v1/evaluator-criteria?{query}").json()["evaluator_criteria"]
        return [(row["public_id"], row["revision"]) for row in rows]

    for _ in range(4):
        add()
    before = page("limit=100")
    first = page("limit=3")
    add()
    following = page("limit=90&offset=3")

    assert first + following == before[:93]


@pytest.mark.parametrize("created_at", [None, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"])
def test_evaluations_do_not_shift(alice: Caller, created_at: str | None) -> None:
    """What is imported between two pages stands by its own time, not at the beginning."""

    def add(at: str | None) -> None:
        row = {"evaluator_id": "tone", "log_id": uuid.uuid4().hex, "score": 0.5, "created_at": at}
        answer = alice.post("/v1/evaluations/batch", {"evaluations": [row]})
        assert answer.status_code == 200 and not answer.json()["errors"], answer.content

    def page(**body: int) -> list[str]:
        found = alice.post("/v1/evaluations/search", {"filters": [], **body})
        return [row["id"] for row in found.json()["evaluations"]]

    for day in range(1, 7):
        add(f"2026-01-0{day}T12:00:00Z")
    before = page()
    first = page(limit=2)
    add(created_at)
    second = page(limit=2, offset=2)
    add(created_at)
    third = page(limit=2, offset=4)

    assert first + second + third == before
    assert len(page()) == 8
