"""/v1/annotation-criteria: made, listed, changed, deleted, and whose they are."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from evalsvc.accounts.models import AuditEntry
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.services import MAX_CRITERIA
from evalsvc.projects.models import Experiment
from tests.annotations.shapes import ANNOTATE, CRITERIA, GRADES, TYPES, criteria_body, label, new_criteria, new_project
from tests.conftest import Caller
from tests.rest.shapes import assert_problem

KEYS = {"id", "project_id", "name", "description", "annotation_type", "categories", "created_at", "updated_at"} | {
    "resource_types"
}
NOWHERE = "00000000-0000-4000-8000-000000000000"
BODY = {"name": "tone", "annotation_type": "binary"}


def rows(caller: Caller) -> Any:
    return AnnotationCriteria.objects.using("system").filter(account_id=caller.account.pk)


def listed(caller: Caller, query: str = "") -> list[str]:
    return [row["id"] for row in caller.get(CRITERIA + query).json()["annotation_criteria"]]


def put(caller: Caller, id: str, body: Any) -> Any:
    return caller.call("PUT", f"{CRITERIA}/{id}", body)


@pytest.mark.parametrize("kind", TYPES)
def test_it_is_made_and_read(alice: Caller, kind: str) -> None:
    body = criteria_body(alice, kind)
    made = new_criteria(alice, kind, **body)

    assert set(made) == KEYS
    assert {name: made[name] for name in body} == body
    assert made["categories"] == (GRADES if kind in ("discrete", "categorical") else None)
    assert made["created_at"] == made["updated_at"]
    assert alice.get(f"{CRITERIA}/{made['id']}").json() == {"annotation_criteria": made}
    assert alice.get(CRITERIA).json() == {"annotation_criteria": [made]}


def test_the_least_is_enough(alice: Caller) -> None:
    made = new_criteria(alice, project_id=new_project(alice), description=None, categories=None)

    assert (made["description"], made["categories"]) == (None, None)


def test_lists_are_newest_first_by_project_and_page(alice: Caller) -> None:
    project = new_project(alice)
    ids = [new_criteria(alice, project_id=project)["id"] for _ in range(3)]
    other = new_criteria(alice)["id"]

    assert listed(alice) == [other, *reversed(ids)]
    assert listed(alice, f"?project_id={project}") == ids[::-1]
    assert listed(alice, f"?project_id={uuid.uuid4()}") == []
    assert listed(alice, "?limit=2") == [other, ids[2]]
    assert listed(alice, f"?project_id={project}&limit=1&offset=2") == [ids[0]]
    assert listed(alice, "?offset=4") == []


@pytest.mark.parametrize("query", ["limit=-1", "limit=1001", "offset=-1", "project_id=7", "limit=x"])
def test_a_wrong_query_is_named(alice: Caller, query: str) -> None:
    assert_problem(alice.get(f"{CRITERIA}?{query}"), "validation_failed", f"/{query.partition('=')[0]}")


def test_put_replaces_all_but_the_project(alice: Caller) -> None:
    made = new_criteria(alice, "categorical")
    answer = put(alice, made["id"], {"name": "other", "annotation_type": "binary", "project_id": str(uuid.uuid4())})
    found = answer.json()["annotation_criteria"]

    assert answer.status_code == 200
    assert (found["name"], found["annotation_type"], found["description"]) == ("other", "binary", None)
    assert (found["categories"], found["project_id"]) == (None, made["project_id"])
    assert found["created_at"] == made["created_at"] < found["updated_at"]
    assert alice.get(f"{CRITERIA}/{made['id']}").json() == {"annotation_criteria": found}


def test_put_takes_its_own_name(alice: Caller) -> None:
    made = new_criteria(alice)

    assert put(alice, made["id"], BODY | {"name": made["name"]}).status_code == 200


def test_names_are_unique_within_a_project(alice: Caller) -> None:
    first = new_criteria(alice)
    taken = criteria_body(alice, "continuous", name=first["name"], project_id=first["project_id"])
    other = new_criteria(alice, project_id=first["project_id"])

    assert_problem(alice.post(CRITERIA, taken), "already_exists", "/name")
    assert_problem(put(alice, other["id"], BODY | {"name": first["name"]}), "already_exists", "/name")
    new_criteria(alice, name=first["name"])
    assert sorted(rows(alice).values_list("name", flat=True)) == sorted([first["name"]] * 2 + [other["name"]])


def test_delete_hides_it_and_frees_its_name(alice: Caller) -> None:
    made = new_criteria(alice)
    path = f"{CRITERIA}/{made['id']}"

    answer = alice.call("DELETE", path)
    assert (answer.status_code, answer.content) == (204, b"")
    assert_problem(alice.call("DELETE", path), "not_found")
    assert_problem(alice.get(path), "not_found")
    assert_problem(put(alice, made["id"], BODY), "not_found")
    assert listed(alice) == []
    new_criteria(alice, name=made["name"], project_id=made["project_id"])


def test_delete_keeps_labels_and_takes_no_more(alice: Caller) -> None:
    made = new_criteria(alice)
    kept = label(alice, made, "log")
    assert alice.call("DELETE", f"{CRITERIA}/{made['id']}").status_code == 204

    assert alice.get(f"/v1/evaluations/{kept['id']}").json() == {"evaluation": kept}
    again = {"annotation_criteria_id": made["id"], "log_id": "log", "value_pass": False}
    assert_problem(alice.post(ANNOTATE, again), "validation_failed", "/annotation_criteria_id")


def test_a_project_with_criteria_stays_until_they_are_deleted(alice: Caller) -> None:
    made = new_criteria(alice)
    project = f"/v1/projects/{made['project_id']}"
    (experiment,) = Experiment.objects.using("system").filter(project_id=made["project_id"])
    assert alice.call("DELETE", f"/v1/experiments/{experiment.pk}").status_code == 204

    assert "annotation criteria" in assert_problem(alice.call("DELETE", project), "in_use")["detail"]
    alice.call("DELETE", f"{CRITERIA}/{made['id']}")
    assert alice.call("DELETE", project).status_code == 204


def test_the_type_stays_once_there_are_labels(alice: Caller) -> None:
    made = new_criteria(alice, "discrete")
    assert put(alice, made["id"], BODY).status_code == 200
    kept = label(alice, made, value_pass=True)

    assert_problem(
        put(alice, made["id"], BODY | {"annotation_type": "continuous"}), "validation_failed", "/annotation_type"
    )
    assert put(alice, made["id"], BODY | {"name": "renamed"}).status_code == 200
    assert alice.get(f"/v1/evaluations/{kept['id']}").json()["evaluation"]["score"] == 1


def test_every_change_is_in_the_audit_trail(alice: Caller) -> None:
    made = new_criteria(alice)
    put(alice, made["id"], BODY)
    alice.call("DELETE", f"{CRITERIA}/{made['id']}")

    entries = AuditEntry.objects.using("system").filter(account=alice.account, action__startswith="annotation")
    actions = entries.order_by("id").values_list("action", "target")
    assert list(actions) == [
        ("annotation_criteria.created", made["name"]),
        ("annotation_criteria.changed", "tone"),
        ("annotation_criteria.deleted", "tone"),
    ]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": "  "}, "/name"),
        ({"name": "x" * 101}, "/name"),
        ({"name": 7}, "/name"),
        ({"name": None}, "/name"),
        ({"name": "a\0"}, "/name"),
        ({"description": "x" * 10_001}, "/description"),
        ({"description": ["x"]}, "/description"),
        ({"annotation_type": "stars"}, "/annotation_type"),
        ({"annotation_type": None}, "/annotation_type"),
        ({"project_id": "7"}, "/project_id"),
        ({"project_id": None}, "/project_id"),
        ({"project_id": NOWHERE}, "/project_id"),
        ({"categories": GRADES}, "/categories"),
        ({"annotation_type": "discrete"}, "/categories"),
        ({"annotation_type": "categorical", "categories": []}, "/categories"),
        ({"annotation_type": "categorical", "categories": "good"}, "/categories"),
        ({"annotation_type": "categorical", "categories": ["good"]}, "/categories/0"),
        ({"annotation_type": "categorical", "categories": [{"score": 1}]}, "/categories/0/label"),
        ({"annotation_type": "categorical", "categories": [{"label": ""}]}, "/categories/0/label"),
        ({"annotation_type": "categorical", "categories": [{"label": "a" * 256}]}, "/categories/0/label"),
        ({"annotation_type": "categorical", "categories": [{"label": "a"}, {"label": "a"}]}, "/categories/1/label"),
        ({"annotation_type": "discrete", "categories": [{"label": "a"}]}, "/categories/0/score"),
        ({"annotation_type": "discrete", "categories": [{"score": "1"}]}, "/categories/0/score"),
        ({"annotation_type": "discrete", "categories": [{"score": 1e16}]}, "/categories/0/score"),
        ({"annotation_type": "discrete", "categories": [{"score": 1}, {"score": 1.0}]}, "/categories/1/score"),
        ({"annotation_type": "discrete", "categories": [{"score": i} for i in range(101)]}, "/categories"),
    ],
)
def test_what_cannot_be_is_named_and_not_kept(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    body = criteria_body(alice) | fields

    assert_problem(alice.post(CRITERIA, body), "validation_failed", pointer)
    assert not rows(alice).exists()
    if "project_id" not in fields:
        made = new_criteria(alice)
        assert_problem(put(alice, made["id"], body), "validation_failed", pointer)
        assert alice.get(f"{CRITERIA}/{made['id']}").json() == {"annotation_criteria": made}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b'{"name": "\xff"}', b'{"name": "\\ud800"}', b"[" * 10_000])
def test_bodies_that_are_none_are_refused(alice: Caller, body: bytes) -> None:
    for answer in (alice.post(CRITERIA, raw=body), alice.post(ANNOTATE, raw=body)):
        assert answer.status_code in (400, 422), answer.content
        assert answer["Content-Type"] == "application/problem+json"


def test_an_account_has_so_many(alice: Caller) -> None:
    made = rows(alice).get(pk=new_criteria(alice)["id"])
    AnnotationCriteria.objects.using("system").bulk_create(
        AnnotationCriteria(account=alice.account, project_id=made.project_id, name=f"c{i}", annotation_type="binary")
        for i in range(MAX_CRITERIA - 1)
    )

    assert_problem(alice.post(CRITERIA, criteria_body(alice)), "validation_failed")
    assert len(listed(alice)) == MAX_CRITERIA


def test_readers_read_only(alice: Caller, bob: Caller) -> None:
    made = new_criteria(alice)

    assert bob.get(f"{CRITERIA}/{made['id']}").json() == {"annotation_criteria": made}
    assert listed(bob) == [made["id"]]
    assert_problem(bob.post(CRITERIA, criteria_body(alice)), "read_only_key")
    assert_problem(put(bob, made["id"], BODY), "read_only_key")
    assert_problem(bob.call("DELETE", f"{CRITERIA}/{made['id']}"), "read_only_key")


def test_strangers_find_nothing(alice: Caller, charlie: Caller) -> None:
    made = new_criteria(alice)

    for method in ("GET", "PUT", "DELETE"):
        assert_problem(charlie.call(method, f"{CRITERIA}/{made['id']}", BODY), "not_found")
    assert listed(charlie) == listed(charlie, f"?project_id={made['project_id']}") == []
    foreign = criteria_body(charlie, project_id=made["project_id"])
    missing = criteria_body(charlie, project_id=str(uuid.uuid4()))
    details = [
        assert_problem(charlie.post(CRITERIA, body), "validation_failed", "/project_id")["detail"]
        for body in (foreign, missing)
    ]
    assert details[0] == details[1]
    assert listed(alice) == [made["id"]]
