"""/v1/prompt-definitions and /v1/prompt-revisions: made, found, labelled, deleted, and whose they are."""

from __future__ import annotations

import hashlib
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from evalsvc.accounts.models import AuditEntry
from evalsvc.prompts import selectors, services
from evalsvc.prompts.models import PromptLabel, PromptRevision
from tests.conftest import Caller
from tests.prompts.shapes import (
    DEFINITIONS,
    GREETING,
    REVISIONS,
    definitions,
    numbers,
    revise,
    revisions,
    set_labels,
)
from tests.rest.shapes import assert_problem

NOWHERE = "00000000-0000-4000-8000-000000000000"


def patch(caller: Caller, id: str, body: Any) -> Any:
    return caller.call("PATCH", f"{DEFINITIONS}/{id}", body)


def test_a_new_name_makes_a_prompt_and_its_first_revision(alice: Caller) -> None:
    made = revise(alice, body="  Greet {{ name }}.\n", metadata={"model": "small"}, prompt_description="Says hello.")

    assert made["body"] == "  Greet {{ name }}.\n"
    assert made["normalized_body_sha256"] == hashlib.sha256(b"Greet {{ name }}.").hexdigest()
    assert (made["revision"], made["metadata"], made["labels"]) == (1, {"model": "small"}, [])
    assert (made["prompt_definition_name"], made["project_name"]) == ("greeting", "bot")
    (prompt,) = definitions(alice)
    assert (prompt["id"], prompt["project_id"]) == (made["prompt_definition_id"], made["project_id"])
    assert (prompt["description"], prompt["latest_revision"]) == ("Says hello.", 1)
    assert revisions(alice) == [made]


def test_a_known_name_and_an_id_make_the_next_revision(alice: Caller) -> None:
    first = revise(alice, prompt_description="Says hello.")
    second = revise(alice, body="Hello!", prompt_description="Another.")
    third = alice.post(REVISIONS, {"body": "Hi!", "prompt_id": first["prompt_definition_id"]}).json()["prompt_revision"]

    assert [row["revision"] for row in (first, second, third)] == [1, 2, 3]
    assert {row["prompt_definition_id"] for row in (first, second, third)} == {first["prompt_definition_id"]}
    (prompt,) = definitions(alice)
    assert (prompt["description"], prompt["latest_revision"]) == ("Says hello.", 3)
    assert prompt["updated_at"] > prompt["created_at"]
    assert numbers(alice) == [("greeting", 3), ("greeting", 2), ("greeting", 1)]


def test_the_same_name_is_another_prompt_in_another_project(alice: Caller) -> None:
    one, other = revise(alice), revise(alice, project_name="desk")

    assert (one["revision"], other["revision"]) == (1, 1)
    assert one["prompt_definition_id"] != other["prompt_definition_id"]
    assert [row["project_name"] for row in definitions(alice)] == ["desk", "bot"]
    by_id = revise(alice, project_name=None, project_id=one["project_id"])
    assert (by_id["prompt_definition_id"], by_id["revision"]) == (one["prompt_definition_id"], 2)
    # The name of a project outranks its id, as it does in evaluations.
    assert revise(alice, project_id=one["project_id"], project_name="desk")["revision"] == 2


def test_only_a_new_one_can_be_asked_for(alice: Caller) -> None:
    assert revise(alice, create_only_if_not_exists=True)["revision"] == 1

    answer = alice.post(REVISIONS, GREETING | {"create_only_if_not_exists": True})
    assert_problem(answer, "already_exists")
    assert answer.json()["errors"][0]["pointer"] == "/prompt_name"
    assert numbers(alice) == [("greeting", 1)]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"prompt_name": None}, "/prompt_name"),
        ({"prompt_name": " "}, "/prompt_name"),
        ({"prompt_name": "x" * 256}, "/prompt_name"),
        ({"project_name": None}, "/project_name"),
        ({"project_name": ""}, "/project_name"),
        ({"project_name": "x" * 51}, "/project_name"),
        ({"project_name": None, "project_id": NOWHERE}, "/project_id"),
        ({"prompt_id": NOWHERE}, "/prompt_id"),
        ({"prompt_id": 7}, "/prompt_id"),
        ({"body": None}, "/body"),
        ({"body": "x" * 200_001}, "/body"),
        ({"metadata": {"x": "y" * 65_536}}, "/metadata"),
    ],
)
def test_it_points_to_what_it_refuses(alice: Caller, change: dict[str, Any], pointer: str) -> None:
    answer = alice.post(REVISIONS, GREETING | change)

    assert_problem(answer, "validation_failed")
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert definitions(alice) == []


def test_it_warns_of_what_nothing_reads(alice: Caller) -> None:
    answer = alice.post(REVISIONS, GREETING | {"promt_name": "x"}).json()

    assert [warning["did_you_mean"][0] for warning in answer["warnings"]] == ["prompt_name"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [("farewell", 1), ("greeting", 2), ("greeting", 1)]),
        ("prompt_name=greeting", [("greeting", 2), ("greeting", 1)]),
        ("prompt_name=Greeting", []),
        ("prompt_name_startswith=fare", [("farewell", 1)]),
        ("project_name=bot", [("greeting", 2), ("greeting", 1)]),
        ("project_name=none", []),
        ("revision=1", [("farewell", 1), ("greeting", 1)]),
        ("revision=0", []),
        ("latest_revision_only=true", [("farewell", 1), ("greeting", 2)]),
        ("latest_revision_only=true&revision=1", [("farewell", 1)]),
        ("label=production", [("greeting", 1)]),
        ("label=production&prompt_name=farewell", []),
        ("limit=0", []),
        ("limit=1", [("farewell", 1)]),
        ("limit=1&offset=2", [("greeting", 1)]),
        (f"prompt_id={NOWHERE}", []),
        (f"revision_id={NOWHERE}", []),
        ("normalized_body_sha256=", [("farewell", 1), ("greeting", 2), ("greeting", 1)]),
        ("no_such=1", [("farewell", 1), ("greeting", 2), ("greeting", 1)]),
    ],
)
def test_revisions_are_found(alice: Caller, query: str, found: list[tuple[str, int]]) -> None:
    set_labels(alice, revise(alice), "production", "eu")
    revise(alice, body="Hello!")
    revise(alice, prompt_name="farewell", project_name="desk")

    assert numbers(alice, query) == found


def test_revisions_are_found_by_ids_and_by_the_beginning_of_the_digest(alice: Caller) -> None:
    one, other = revise(alice), revise(alice, body="Hello!")

    assert revisions(alice, f"revision_id={one['id']}") == [one]
    assert revisions(alice, f"prompt_id={one['prompt_definition_id']}") == [other, one]
    assert revisions(alice, f"project_id={one['project_id']}") == [other, one]
    digest = one["normalized_body_sha256"]
    for asked in (digest, digest[:12], digest.upper()):
        assert revisions(alice, f"normalized_body_sha256={asked}") == [one]


@pytest.mark.parametrize("path", [DEFINITIONS, REVISIONS])
@pytest.mark.parametrize("query", ["limit=1001", "limit=-1", "offset=-1", "prompt_id=7", "project_id=x"])
def test_a_query_that_is_none_is_refused(alice: Caller, path: str, query: str) -> None:
    assert_problem(alice.get(f"{path}?{query}"), "validation_failed")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["farewell", "greeting"]),
        ("name=greeting", ["greeting"]),
        ("name_startswith=fare", ["farewell"]),
        ("project_name=bot", ["greeting"]),
        ("limit=0", []),
        ("limit=1&offset=1", ["greeting"]),
    ],
)
def test_definitions_are_found(alice: Caller, query: str, found: list[str]) -> None:
    revise(alice)
    revise(alice, prompt_name="farewell", project_name="desk")

    assert [row["name"] for row in definitions(alice, query)] == found


def test_an_answer_has_an_end(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "MAX_ANSWER_CHARACTERS", 25)
    for text in ("a" * 30, "b" * 10, "c" * 10):
        revise(alice, body=text)

    assert numbers(alice) == [("greeting", 3), ("greeting", 2)]
    assert numbers(alice, "offset=2") == [("greeting", 1)]


def test_a_label_is_at_one_revision_of_a_prompt(alice: Caller) -> None:
    first, second = revise(alice), revise(alice, body="Hello!")
    other = revise(alice, prompt_name="farewell")
    for row in (first, other):
        set_labels(alice, row, "production", "eu", "eu")
    set_labels(alice, second, "production")

    by_name = {(row["prompt_definition_name"], row["revision"]): row["labels"] for row in revisions(alice)}
    assert by_name == {("greeting", 1): ["eu"], ("greeting", 2): ["production"], ("farewell", 1): ["eu", "production"]}


def test_labels_are_taken_off(alice: Caller) -> None:
    first, second = revise(alice), revise(alice, body="Hello!")
    set_labels(alice, first, "a", "b")
    set_labels(alice, second, "c")

    answer = alice.post(f"{REVISIONS}/{first['id']}/remove-labels", {"labels": ["a", "c", "none"]})

    assert (answer.status_code, answer.content) == (204, b"")
    assert [row["labels"] for row in revisions(alice)] == [["c"], ["b"]]


@pytest.mark.parametrize("verb", ["set-labels", "remove-labels"])
@pytest.mark.parametrize("labels", [None, [""], ["x" * 101], [7], ["x"] * 101])
def test_labels_that_are_none_are_refused(alice: Caller, verb: str, labels: Any) -> None:
    assert_problem(alice.post(f"{REVISIONS}/{revise(alice)['id']}/{verb}", {"labels": labels}), "validation_failed")


def test_a_prompt_has_so_many_labels(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_LABELS", 2)
    made = revise(alice)
    set_labels(alice, made, "a", "b")

    assert_problem(alice.post(f"{REVISIONS}/{made['id']}/set-labels", {"labels": ["c"]}), "validation_failed")
    set_labels(alice, made, "b")
    assert revisions(alice)[0]["labels"] == ["a", "b"]


def test_an_account_has_so_many_prompts(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_PROMPTS", 1)
    revise(alice)

    assert_problem(alice.post(REVISIONS, GREETING | {"prompt_name": "more"}), "validation_failed")
    assert revise(alice)["revision"] == 2


def test_name_and_description_change(alice: Caller) -> None:
    made = revise(alice, prompt_description="Says hello.")
    id = made["prompt_definition_id"]

    answer = patch(alice, id, {"name": "welcome", "description": None}).json()["prompt_definition"]
    assert (answer["name"], answer["description"]) == ("welcome", "Says hello.")
    answer = patch(alice, id, {"description": ""}).json()["prompt_definition"]
    assert (answer["name"], answer["description"], answer["latest_revision"]) == ("welcome", "", 1)
    assert definitions(alice) == [answer]


def test_a_name_that_is_taken_is_refused(alice: Caller) -> None:
    made = revise(alice)
    revise(alice, prompt_name="farewell")
    revise(alice, prompt_name="elsewhere", project_name="desk")

    assert_problem(patch(alice, made["prompt_definition_id"], {"name": "farewell"}), "already_exists")
    assert_problem(patch(alice, made["prompt_definition_id"], {"name": " "}), "validation_failed")
    assert patch(alice, made["prompt_definition_id"], {"name": "elsewhere"}).status_code == 200


def test_one_is_deleted_with_all_that_is_of_it(alice: Caller) -> None:
    made, kept = revise(alice), revise(alice, prompt_name="farewell")
    set_labels(alice, made, "production")

    gone = f"{DEFINITIONS}?prompt_id={made['prompt_definition_id']}"
    assert alice.call("DELETE", gone).status_code == 204

    assert revisions(alice) == [kept]
    own = {"account_id": alice.account.pk}
    assert not PromptLabel.objects.using("system").filter(**own).exists()
    assert_problem(alice.call("DELETE", gone), "not_found")
    # The name is free, and counts from one again.
    assert revise(alice)["revision"] == 1


def test_all_of_a_project_are_deleted(alice: Caller) -> None:
    made, kept = revise(alice), revise(alice, project_name="desk")

    assert_problem(alice.call("DELETE", f"/v1/projects/{made['project_id']}"), "in_use")
    for _ in range(2):
        assert alice.call("DELETE", f"{DEFINITIONS}?project_id={made['project_id']}").status_code == 204

    assert revisions(alice) == [kept]
    assert alice.call("DELETE", f"/v1/projects/{made['project_id']}").status_code == 204


def test_a_deletion_that_names_nothing_is_refused(alice: Caller) -> None:
    made, other = revise(alice), revise(alice, project_name="desk")
    id = made["prompt_definition_id"]

    assert_problem(alice.call("DELETE", DEFINITIONS), "filter_required")
    assert_problem(alice.call("DELETE", f"{DEFINITIONS}?prompt_id=&project_id="), "filter_required")
    assert_problem(alice.call("DELETE", f"{DEFINITIONS}?prompt_id={id}&prompt_id={NOWHERE}"), "validation_failed")
    assert_problem(alice.call("DELETE", f"{DEFINITIONS}?project_id={NOWHERE}"), "not_found")
    assert_problem(alice.call("DELETE", f"{DEFINITIONS}?prompt_id={id}&project_id={other['project_id']}"), "not_found")
    assert len(definitions(alice)) == 2


def test_writes_are_in_the_audit_trail(alice: Caller) -> None:
    made = revise(alice)
    set_labels(alice, made, "b", "a")
    alice.post(f"{REVISIONS}/{made['id']}/remove-labels", {"labels": ["a"]})
    patch(alice, made["prompt_definition_id"], {"description": "x"})
    alice.call("DELETE", f"{DEFINITIONS}?prompt_id={made['prompt_definition_id']}")

    entries = AuditEntry.objects.using("system").filter(account=alice.account, action__startswith="prompt.")
    assert [(row.action, row.target, row.detail) for row in entries.order_by("id")] == [
        ("prompt.created", "greeting", {}),
        ("prompt.revised", "greeting", {"revision": 1}),
        ("prompt.labelled", "greeting:1", {"labels": "a, b"}),
        ("prompt.unlabelled", "greeting:1", {"labels": "a"}),
        ("prompt.changed", "greeting", {}),
        ("prompt.deleted", "greeting", {}),
    ]


def test_eight_at_once_make_eight_revisions_of_one_prompt(alice: Caller) -> None:
    def push(n: int) -> int:
        try:
            return int(revise(alice, body=f"Text {n}.")["revision"])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(push, range(8)))

    assert sorted(made) == list(range(1, 9))
    assert numbers(alice) == [("greeting", n) for n in range(8, 0, -1)]


def test_labels_that_race_are_at_one_revision(alice: Caller) -> None:
    rows = [revise(alice, body=f"Text {n}.") for n in range(4)]

    def put(n: int) -> None:
        try:
            set_labels(alice, rows[n % 4], *(("a", "b") if n % 2 else ("b", "a")))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(16)))

    found = [row["labels"] for row in revisions(alice)]
    assert sorted(label for labels in found for label in labels) == ["a", "b"]


def test_a_stranger_finds_nothing(alice: Caller, bob: Caller, charlie: Caller) -> None:
    made = revise(alice)
    set_labels(alice, made, "production")

    assert revisions(bob) == revisions(alice)
    assert definitions(charlie) == revisions(charlie) == revisions(charlie, f"revision_id={made['id']}") == []
    assert_problem(
        charlie.post(REVISIONS, {"body": "x", "prompt_id": made["prompt_definition_id"]}), "validation_failed"
    )
    assert_problem(
        charlie.post(REVISIONS, GREETING | {"project_name": None, "project_id": made["project_id"]}),
        "validation_failed",
    )
    gone = f"{DEFINITIONS}?prompt_id={made['prompt_definition_id']}"
    assert_problem(charlie.call("DELETE", gone), "not_found")
    assert_problem(charlie.call("DELETE", f"{DEFINITIONS}?project_id={made['project_id']}"), "not_found")
    assert len(revisions(alice)) == 1


def test_what_is_frozen_cannot_be_written(alice: Caller) -> None:
    from django.db import ProgrammingError

    from evalsvc.tenancy.scope import account_scope

    made = revise(alice)
    with pytest.raises(ProgrammingError, match="permission denied"), account_scope(alice.account.pk):
        PromptRevision.objects.filter(pk=uuid.UUID(made["id"])).update(body="Something else.")
