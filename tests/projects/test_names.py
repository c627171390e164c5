"""Names of apps and projects: made once however many ask at once, as long as allowed, and each account's own."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from evalsvc.infra.cache import AccountCache, BoundedCache
from evalsvc.projects import services
from evalsvc.projects.models import App, Project
from evalsvc.projects.selectors import find_project
from evalsvc.projects.services import Placement, place_request, remember_app, remember_project
from evalsvc.rest.problems import Invalid
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.projects.sending import SAMPLE, at_once, forget
from tests.rest.shapes import assert_problem


def names(model: Any, caller: Caller) -> list[str]:
    rows = model.objects.using("system").filter(account_id=caller.account.pk)
    return sorted(rows.values_list("name", flat=True))


def test_a_project_that_many_ask_for_at_once_is_one(alice: Caller) -> None:
    ids = at_once(8, lambda _: remember_project(alice.account.pk, "checkout"))

    assert len(set(ids)) == 1
    assert names(Project, alice) == ["checkout"]


def test_an_app_that_many_ask_for_at_once_is_one(alice: Caller) -> None:
    at_once(8, lambda _: remember_app(alice.account.pk, "shop"))

    assert names(App, alice) == ["shop"]


def test_many_names_at_once_are_all_made(alice: Caller) -> None:
    ids = at_once(8, lambda number: remember_project(alice.account.pk, f"p{number % 4}"))

    assert len(set(ids)) == 4
    assert ids[:4] == ids[4:]
    assert names(Project, alice) == ["p0", "p1", "p2", "p3"]


def test_requests_that_race_for_a_new_place_all_succeed_in_the_same(alice: Caller) -> None:
    body = SAMPLE | {"app": "shop", "project_name": "checkout"}
    answers = at_once(6, lambda _: alice.post("/v1/evaluate", body))

    assert {answer.status_code for answer in answers} == {200}
    places = {answer.json()["results"][0]["evaluation_result"]["project_id"] for answer in answers}
    assert len(places) == 1
    assert (names(App, alice), names(Project, alice)) == (["shop"], ["checkout"])


def test_accounts_that_race_for_one_name_get_their_own(alice: Caller, charlie: Caller) -> None:
    both = (alice, charlie)
    ids = at_once(8, lambda number: remember_project(both[number % 2].account.pk, "checkout"))

    assert (len(set(ids[::2])), len(set(ids[1::2])), len(set(ids))) == (1, 1, 2)


def test_another_process_finds_what_this_one_made(alice: Caller) -> None:
    first = remember_project(alice.account.pk, "checkout")
    remember_app(alice.account.pk, "shop")
    forget(alice)

    assert remember_project(alice.account.pk, "checkout") == first
    remember_app(alice.account.pk, "shop")
    assert (names(App, alice), names(Project, alice)) == (["shop"], ["checkout"])


def test_the_memory_of_names_does_not_grow_for_ever(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_known_projects", AccountCache(3))
    monkeypatch.setattr(services, "_known_apps", BoundedCache(3))
    ids = [remember_project(alice.account.pk, f"p{number}", epoch="1") for number in range(8)]
    for number in range(8):
        remember_app(alice.account.pk, f"a{number}")

    assert 0 < len(services._known_projects) <= 3
    assert len(services._known_apps) <= 3
    assert [remember_project(alice.account.pk, f"p{number}", epoch="1") for number in range(8)] == ids


@pytest.mark.parametrize(("field", "model"), [("app", App), ("project_name", Project)])
def test_the_longest_name_is_kept_whole_and_a_longer_one_is_refused(alice: Caller, field: str, model: Any) -> None:
    longest = "ü" * 50
    assert alice.post("/v1/evaluate", SAMPLE | {field: longest}).status_code == 200
    before = names(model, alice)
    assert longest in before

    assert_problem(alice.post("/v1/evaluate", SAMPLE | {field: "x" * 51}), "validation_failed", f"/{field}")
    assert names(model, alice) == before


@pytest.mark.parametrize("name", ["Shop", "shop ", "sh-op", "\u0455hop"])
def test_names_that_look_alike_are_two(alice: Caller, name: str) -> None:
    assert remember_project(alice.account.pk, "shop") != remember_project(alice.account.pk, name)


def test_a_project_s_name_outranks_an_id_that_is_not_even_there(alice: Caller) -> None:
    place = place_request(account_id=alice.account.pk, project_name="checkout", project_id=uuid.uuid4())

    assert place == Placement(remember_project(alice.account.pk, "checkout"), "default", None)


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_name_is_no_name(alice: Caller, empty: str | None) -> None:
    assert place_request(account_id=alice.account.pk, app=empty, project_name=empty) == Placement(None, "default", None)
    assert names(Project, alice) == []


def test_a_foreign_project_is_as_unknown_as_a_missing_one(alice: Caller, charlie: Caller) -> None:
    id = remember_project(alice.account.pk, "checkout")
    said = []
    for wanted in (id, uuid.uuid4()):
        with pytest.raises(Invalid) as caught:
            place_request(account_id=charlie.account.pk, app="new", project_id=wanted)
        said.append(caught.value.errors)

    assert said[0] == said[1]
    assert names(App, charlie) == []
    with account_scope(charlie.account.pk):
        assert find_project(account_id=charlie.account.pk, id=id) is None
        assert find_project(account_id=alice.account.pk, id=id) is None  # the database hides it too


def test_a_request_that_captures_nothing_leaves_no_name(alice: Caller) -> None:
    body = SAMPLE | {"capture": "none", "app": "shop", "project_name": "checkout"}

    assert alice.post("/v1/evaluate", body).status_code == 200
    assert (names(App, alice), names(Project, alice)) == ([], [])


def test_no_request_makes_a_name_in_another_account(alice: Caller, charlie: Caller) -> None:
    before = names(Project, charlie)
    alice.post("/v1/evaluate", SAMPLE | {"app": "shop", "project_name": "checkout"})

    assert names(Project, charlie) == before == []
    assert names(App, charlie) == []
