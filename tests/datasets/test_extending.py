"""The next version of a dataset by a few examples more."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from evalsvc.datasets.extension import extend_dataset
from evalsvc.datasets.selectors import get_dataset
from evalsvc.rest.problems import Invalid
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.factories import make_dataset, ok

OLD: list[dict[str, Any]] = [
    {"id": "a", "input": {"b": 1e22, "a": "ü"}, "expected": 1},
    {"input": "second", "contexts": ["c"], "topic": "x"},
]


def extend(caller: Caller, id: str, *examples: dict[str, Any]) -> tuple[int, bool]:
    with account_scope(caller.account.pk):
        dataset = get_dataset(account=caller.account, id=uuid.UUID(id))
        version, created = extend_dataset(account=caller.account, dataset=dataset, examples=examples, actor="user:1")
        return version.number, created


def diff(caller: Caller, id: str) -> Any:
    found = ok(caller.get(f"/v1/datasets/{id}/diff"))
    return {name: found[f"n_{name}"] for name in ("added", "removed", "changed", "unchanged")}


def test_what_was_there_stays_as_it_was(alice: Caller) -> None:
    id = make_dataset(alice, OLD)
    assert extend(alice, id, {"id": "new", "input": "third"}) == (2, True)
    assert diff(alice, id) == {"added": 1, "removed": 0, "changed": 0, "unchanged": 2}


def test_the_same_example_again_is_no_new_version(alice: Caller) -> None:
    id = make_dataset(alice, OLD)
    extend(alice, id, {"id": "new", "input": "third"})
    assert extend(alice, id, {"id": "new", "input": "third"}) == (2, False)


def test_an_example_of_the_same_id_is_replaced(alice: Caller) -> None:
    id = make_dataset(alice, OLD)
    extend(alice, id, {"id": "a", "input": "otherwise"})
    assert diff(alice, id) == {"added": 0, "removed": 0, "changed": 1, "unchanged": 1}


def test_what_is_no_example_adds_nothing(alice: Caller) -> None:
    id = make_dataset(alice, OLD)
    with pytest.raises(Invalid):
        extend(alice, id, {"expected": "without an input"})
    assert len(ok(alice.get(f"/v1/datasets/{id}/versions"))["versions"]) == 1


def test_what_an_older_version_holds_can_be_the_newest_again(alice: Caller) -> None:
    both = [{"id": "a", "input": "one"}, {"id": "b", "input": "two"}]
    id = make_dataset(alice, both)
    ok(alice.post(f"/v1/datasets/{id}/versions", {"examples": both[:1]}))
    assert extend(alice, id, both[1]) == (3, True)
    assert diff(alice, id) == {"added": 1, "removed": 0, "changed": 0, "unchanged": 1}


def test_an_upload_of_what_two_versions_hold_is_the_later_one(alice: Caller) -> None:
    both = [{"id": "a", "input": "one"}, {"id": "b", "input": "two"}]
    id = make_dataset(alice, both)
    one = ok(alice.post(f"/v1/datasets/{id}/versions", {"examples": both[:1]}))
    extend(alice, id, both[1])
    again = [ok(alice.post(f"/v1/datasets/{id}/versions", {"examples": rows})) for rows in (both, both[:1])]
    assert [(found["created"], found["version"]["number"]) for found in (one, *again)] == [
        (True, 2),
        (False, 3),
        (False, 2),
    ]
