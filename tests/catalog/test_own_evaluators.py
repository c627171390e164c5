"""An account's own evaluators: what may be saved, what a switch does, and whose history a result joins."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.accounts.models import AuditEntry
from evalsvc.catalog.managed import sync_managed
from evalsvc.catalog.models import Evaluator
from evalsvc.catalog.services import save_evaluator, switch_evaluator
from evalsvc.rest.problems import Invalid
from tests.conftest import Caller, scores_of

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
