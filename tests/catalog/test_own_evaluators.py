"""An account's own evaluators: what may be saved, what a switch does, and whose history a result joins."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest
from django.db import connections, transaction

from evalsvc.accounts.models import AuditEntry
from evalsvc.catalog.managed import sync_managed
from evalsvc.catalog.models import Evaluator
from evalsvc.catalog.services import save_evaluator, switch_evaluator
from evalsvc.rest.problems import Invalid
from tests.conftest import Caller, scores_of
from tests.rest.shapes import assert_problem

EXACT = "exact-match-2026-11-28"


def own(caller: Caller, name: str, base: str = EXACT, **fields: Any) -> Evaluator:
    row = Evaluator(evaluator_id=name, base=base, name=name, **fields)
    return save_evaluator(account=caller.account, evaluator=row, actor="user:7")


def switch(caller: Caller, row: Evaluator, on: bool) -> Evaluator:
    return switch_evaluator(account=caller.account, evaluator=row, is_enabled=on, actor="user:7")


def managed(name: str = EXACT) -> Evaluator:
    return Evaluator.objects.get(account=None, evaluator_id=name)


def rows_of(caller: Caller) -> list[Evaluator]:
    return list(Evaluator.objects.using("system").filter(account_id=caller.account.pk).order_by("created_at"))


def trail(caller: Caller) -> list[tuple[str, str, str]]:
    rows = AuditEntry.objects.using("system").filter(account_id=caller.account.pk, action__startswith="evaluator.")
    return list(rows.order_by("id").values_list("action", "target", "actor"))


def result(caller: Caller, evaluator: str, output: str = "Paris", **fields: Any) -> dict[str, Any]:
    answer = caller.evaluate(evaluator, output=output, label="Paris", **fields)
    assert answer.status_code == 200, answer.content
    (found,) = answer.json()["results"]
    return dict(found)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"base": "nobody"}, "/base"),
        ({"base": ""}, "/base"),
        ({"base": "exact-match"}, "/base"),  # an alias may move to another version; an id does not
        ({"evaluator_id": "pii-2026-11-01"}, "/evaluator_id"),
        ({"evaluator_id": "exact-match"}, "/evaluator_id"),
        ({"evaluator_id": "metrics"}, "/evaluator_id"),
        ({"aliases": ["fine", "pii-2026-11-01"]}, "/aliases"),
        ({"aliases": ["hallucination"]}, "/default_profile"),
        ({"default_profile": "no-such"}, "/default_profile"),
        ({"default_profile": "compute-bleu"}, "/default_profile"),  # of another family
        ({"evaluator_id": "a:b"}, "/evaluator_id"),
        ({"aliases": ["fine", "a:b"]}, "/aliases/1"),
    ],
)
def test_what_cannot_be_saved_is_pointed_at_and_leaves_nothing(
    alice: Caller, fields: dict[str, Any], pointer: str
) -> None:
    row = Evaluator(**{"evaluator_id": "ours", "base": EXACT, "name": "Ours"} | fields)
    with pytest.raises(Invalid) as caught:
        save_evaluator(account=alice.account, evaluator=row, actor="test")

    assert [error.pointer for error in caught.value.errors] == [pointer]
    assert rows_of(alice) == []
    assert trail(alice) == []


def test_every_problem_is_said_at_once(alice: Caller) -> None:
    own(alice, "one", aliases=["two"])
    with pytest.raises(Invalid) as caught:
        own(alice, "one", "nobody", aliases=["two"])

    assert [error.pointer for error in caught.value.errors] == ["/base", "/evaluator_id", "/aliases"]


def test_the_family_is_the_one_of_the_base_whatever_the_row_says(alice: Caller, charlie: Caller) -> None:
    saved = own(alice, "ours", family="pii", account=charlie.account)

    assert (saved.family, saved.account_id) == ("exact-match", alice.account.pk)
    assert [row.evaluator_id for row in rows_of(alice)] == ["ours"]
    assert rows_of(charlie) == []


def test_saving_again_changes_the_row_and_keeps_its_id(alice: Caller) -> None:
    row = own(alice, "ours", aliases=["a"])
    row.aliases = ["a", "b"]
    save_evaluator(account=alice.account, evaluator=row, actor="user:8")

    (kept,) = rows_of(alice)
    assert (kept.pk, kept.aliases) == (row.pk, ["a", "b"])
    assert trail(alice) == [("evaluator.created", "ours", "user:7"), ("evaluator.changed", "ours", "user:8")]


def test_a_switch_of_a_managed_one_is_a_row_of_the_account_with_its_id(alice: Caller) -> None:
    before = Evaluator.objects.filter(account=None).values().get(evaluator_id=EXACT)
    saved = switch(alice, managed(), False)

    assert (saved.evaluator_id, saved.base, saved.is_enabled) == (EXACT, EXACT, False)
    assert saved.pk != managed().pk
    assert (saved.name, saved.description) == (managed().name, managed().description)
    assert Evaluator.objects.filter(account=None).values().get(evaluator_id=EXACT) == before


def test_switching_to_and_fro_keeps_one_row_and_writes_each_time_down(alice: Caller) -> None:
    for on in (False, True, False, True):
        switch(alice, managed(), on)

    (row,) = rows_of(alice)
    assert row.is_enabled is True
    assert trail(alice) == [("evaluator.created", EXACT, "user:7"), *[("evaluator.changed", EXACT, "user:7")] * 3]


def test_a_switch_keeps_what_the_account_had_set(alice: Caller) -> None:
    row = own(alice, "ours", aliases=["o"], default_profile="exact-match", description="d")
    switch(alice, row, False)
    switch(alice, row, True)

    (kept,) = rows_of(alice)
    assert (kept.pk, kept.aliases, kept.default_profile, kept.description) == (row.pk, ["o"], "exact-match", "d")


def test_a_switch_is_felt_by_the_next_request_of_this_account_only(alice: Caller, charlie: Caller) -> None:
    assert result(alice, "exact-match")["status"] == "success"
    switch(alice, managed(), False)
    assert result(alice, "exact-match")["error_code"] == "evaluator_disabled"
    assert result(charlie, "exact-match")["status"] == "success"

    switch(alice, managed(), True)
    assert result(alice, "exact-match")["status"] == "success"


def test_the_others_of_a_request_run_beside_one_that_is_switched_off(alice: Caller) -> None:
    row = own(alice, "ours")
    switch(alice, row, False)

    answer = alice.evaluate("ours", EXACT, output="Paris", label="Paris").json()["results"]
    assert answer[0]["error_code"] == "evaluator_disabled"
    assert answer[1]["evaluation_result"]["pass"] is True


def test_a_result_and_its_stored_copy_bear_the_own_name_even_by_an_alias(alice: Caller) -> None:
    own(alice, "ours", aliases=["o"])

    for name in ("ours", "o"):
        found = result(alice, name, capture="all")
        assert found["evaluator_id"] == "ours"
        id = found["evaluation_result"]["id"]
        stored = alice.get(f"/v1/evaluations/{id}").json()["evaluation"]
        assert stored["evaluator_id"] == "ours"


def test_an_own_evaluator_has_a_history_of_its_own(alice: Caller) -> None:
    """Under two names are two histories: an interval never mixes them."""
    own(alice, "ours", aliases=["o"])
    for name, output in (("ours", "Paris"), ("o", "Rome"), (EXACT, "Paris"), ("ours", "Paris")):
        result(alice, name, output, capture="all")

    assert [score for _, score, _ in scores_of(alice, "ours")] == [1.0, 0.0, 1.0]
    assert [score for _, score, _ in scores_of(alice, EXACT)] == [1.0]
    history = alice.get("/v1/history?evaluator=o").json()
    assert history["confidence_interval"]["n"] == 3
    assert alice.get(f"/v1/history?evaluator={EXACT}").json()["confidence_interval"]["n"] == 1


def test_a_managed_one_goes_on_with_its_history_after_a_switch(alice: Caller) -> None:
    result(alice, EXACT, capture="all")
    switch(alice, managed(), False)
    result(alice, EXACT, capture="all")
    switch(alice, managed(), True)
    result(alice, "exact-match", "Rome", capture="all")

    assert [score for _, score, _ in scores_of(alice, EXACT)] == [1.0, 0.0]


def test_own_histories_of_one_name_do_not_meet(alice: Caller, charlie: Caller) -> None:
    for caller, output in ((alice, "Paris"), (charlie, "Rome")):
        own(caller, "ours")
        result(caller, "ours", output, capture="all")

    assert [score for _, score, _ in scores_of(alice, "ours")] == [1.0]
    assert [score for _, score, _ in scores_of(charlie, "ours")] == [0.0]


def test_the_listing_shows_the_account_s_own_first_and_nobody_else_s(alice: Caller, charlie: Caller) -> None:
    own(alice, "zz-ours", aliases=["o"])
    switch(alice, managed("pii-2026-11-28"), False)

    first, second, *_ = alice.get("/v1/evaluators").json()["evaluators"]
    assert {first["id"], second["id"]} == {"zz-ours", "pii-2026-11-28"}
    assert "zz-ours" not in {row["id"] for row in charlie.get("/v1/evaluators").json()["evaluators"]}
    (row,) = alice.get("/v1/evaluators?by_alias_or_id=pii-2026-11-28").json()["evaluators"]
    assert row["evaluation_enabled"] is False


def test_a_deprecated_one_stays_hidden_when_it_is_switched(alice: Caller) -> None:
    switch(alice, managed("pii-2026-11-01"), False)
    own(alice, "ours", base="pii-2026-11-01")

    ids = {row["id"] for row in alice.get("/v1/evaluators").json()["evaluators"]}
    assert "ours" in ids and "pii-2026-11-01" not in ids


def test_one_that_is_replaced_later_is_hidden_where_it_was_switched(alice: Caller) -> None:
    row = switch(alice, managed("pii-2026-11-01"), False)
    Evaluator.objects.using("system").filter(pk=row.pk).update(deprecated=False)
    sync_managed()
    assert Evaluator.objects.using("system").get(pk=row.pk).deprecated


ADDRESS = "/v1/evaluators"


def test_one_is_made_changed_and_switched_by_api(alice: Caller, bob: Caller, charlie: Caller) -> None:
    fields = {"id": "ours", "base": EXACT, "aliases": ["o"], "default_criteria": "exact-match", "description": "d"}
    made = alice.post(ADDRESS, fields)
    assert made.status_code == 201, made.content
    evaluator = made.json()["evaluator"]
    assert {name: evaluator[name] for name in fields} == fields
    assert (evaluator["name"], evaluator["evaluator_family"]) == ("ours", "exact-match")
    assert result(alice, "o")["evaluator_id"] == "ours"

    assert_problem(bob.post(ADDRESS, fields | {"id": "bobs"}), "read_only_key")
    for caller, code in ((charlie, "not_found"), (bob, "read_only_key")):
        assert_problem(caller.patch(f"{ADDRESS}/ours", {"aliases": []}), code)
    changed = alice.patch(f"{ADDRESS}/ours", {"aliases": ["p"], "name": "Ours", "default_criteria": None})
    evaluator = changed.json()["evaluator"]
    assert (evaluator["aliases"], evaluator["name"], evaluator["default_criteria"]) == (["p"], "Ours", None)
    assert result(alice, "o")["error_code"] == "unknown_evaluator"
    assert result(alice, "p")["status"] == "success"
    alice.patch(f"{ADDRESS}/ours", {"evaluation_enabled": False})
    assert result(alice, "ours")["error_code"] == "evaluator_disabled"
    assert [action for action, _, _ in trail(alice)] == ["evaluator.created", *["evaluator.changed"] * 2]
    assert rows_of(charlie) == []


def test_a_managed_one_is_only_switched_by_api(alice: Caller, charlie: Caller) -> None:
    problem = assert_problem(alice.patch(f"{ADDRESS}/{EXACT}", {"name": "Mine", "aliases": []}), "validation_failed")
    assert {error["pointer"] for error in problem["errors"]} == {"/name", "/aliases"}
    assert rows_of(alice) == []

    answer = alice.patch(f"{ADDRESS}/{EXACT}", {"evaluation_enabled": False})
    assert answer.json()["evaluator"]["evaluation_enabled"] is False
    assert result(alice, EXACT)["error_code"] == "evaluator_disabled"
    assert result(charlie, EXACT)["status"] == "success"
    assert_problem(alice.patch(f"{ADDRESS}/exact-match", {"evaluation_enabled": True}), "not_found")


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"id": "a:b"}, "/id"),
        ({"id": ""}, "/id"),
        ({"id": "exact-match"}, "/id"),
        ({"base": "exact-match"}, "/base"),
        ({"aliases": ["x", EXACT]}, "/aliases"),
        ({"aliases": ["n" * 101]}, "/aliases/0"),
        ({"default_criteria": "compute-bleu"}, "/default_criteria"),
        ({"description": "d" * 10_001}, "/description"),
        ({"evaluation_enabled": None}, "/evaluation_enabled"),
        ({"alias": "x"}, ""),
    ],
)
def test_fields_that_do_not_fit_are_named_by_api(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    problem = assert_problem(alice.post(ADDRESS, {"id": "ours", "base": EXACT} | fields), "validation_failed")

    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert rows_of(alice) == []


def test_a_managed_one_is_not_made_by_api(alice: Caller) -> None:
    """A row of its id would hide it, with a name and aliases that no PATCH could take back."""
    body = {"id": EXACT, "base": EXACT, "aliases": ["pii"]}
    problem = assert_problem(alice.post(ADDRESS, body), "validation_failed")

    (error,) = problem["errors"]
    assert error["pointer"] == "/id"
    assert "PATCH its `evaluation_enabled`" in error["detail"]
    assert rows_of(alice) == []
    assert trail(alice) == []


@pytest.mark.parametrize("changes", [{"aliases": ["a"]}, {"evaluation_enabled": False}])
def test_of_two_changes_at_once_none_is_lost(alice: Caller, changes: dict[str, Any]) -> None:
    row = own(alice, "ours")
    answers: list[Any] = []
    call = Thread(target=lambda: answers.append(alice.patch(f"{ADDRESS}/ours", changes)))

    with transaction.atomic(using="system"), connections["system"].cursor() as cursor:
        Evaluator.objects.using("system").filter(pk=row.pk).update(description="changed meanwhile")
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
        call.start()
        is_waiting = False
        while call.is_alive() and not is_waiting:
            cursor.execute(
                "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND %s = ANY (pg_blocking_pids(pid)))", [pid]
            )
            (is_waiting,) = cursor.fetchone()
    call.join()

    assert is_waiting
    assert answers[0].status_code == 200, answers[0].content
    evaluator = alice.get(f"{ADDRESS}/ours").json()["evaluator"]
    assert {name: evaluator[name] for name in changes} == changes
    assert evaluator["description"] == "changed meanwhile"


def test_an_id_is_taken_once(alice: Caller, charlie: Caller) -> None:
    body = {"id": "ours", "base": EXACT}
    assert alice.post(ADDRESS, body).status_code == 201
    problem = assert_problem(alice.post(ADDRESS, body), "validation_failed")
    assert problem["errors"][0]["pointer"] == "/id"
    assert charlie.post(ADDRESS, body).status_code == 201


def test_one_whose_profile_was_archived_can_be_switched_off(alice: Caller) -> None:
    profile = {"evaluator_family": "metrics", "name": "near", "config": {"metric": "bleu", "pass_threshold": 0.5}}
    made = alice.post("/v1/evaluator-criteria", profile).json()["evaluator_criteria"]
    body = {"id": "ours", "base": "metrics-2026-11-28", "default_criteria": "near"}
    assert alice.post(ADDRESS, body).status_code == 201
    assert alice.patch(f"/v1/evaluator-criteria/{made['public_id']}/archive", {}).status_code == 200

    assert alice.patch(f"{ADDRESS}/ours", {"evaluation_enabled": False}).status_code == 200
