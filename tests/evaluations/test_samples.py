"""Samples as people look through them: each with its verdicts side by side, found by what was asked and said."""

from __future__ import annotations

from typing import Any

from django.db.models import Q

from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.evaluations.search.samples import PREVIEW, SamplePage, list_siblings, search_samples
from evalsvc.evaluations.selectors import get_evaluation
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.factories import ok


def samples(caller: Caller, *filters: dict[str, Any], limit: int = 50, cursor: str | None = None) -> SamplePage:
    with account_scope(caller.account.pk):
        condition = evaluation_condition(list(filters)) if filters else Q()
        return search_samples(account=caller.account, condition=condition, limit=limit, cursor=cursor)


def judge(caller: Caller, *evaluators: str, **fields: Any) -> list[int]:
    results = ok(caller.evaluate(*evaluators, app="shop", **fields))["results"]
    return [int(one["evaluation_id"]) for one in results]


def test_a_sample_has_all_its_verdicts_though_one_was_searched_for(alice: Caller) -> None:
    ids = judge(alice, "exact-match", "pii", input="Who?", output="bob@example.com", gold_answer="x")
    (row,) = samples(alice, {"field": "evaluator_family", "value": "pii"}).rows

    assert [one.id for one in row.verdicts] == ids
    assert row.met == {ids[1]}
    assert (row.input, row.output, row.app) == ("Who?", "bob@example.com", "shop")


def test_long_texts_are_cut_in_the_database(alice: Caller) -> None:
    judge(alice, "exact-match", output="y" * 5000, gold_answer="x")
    (row,) = samples(alice).rows

    assert row.output == "y" * (PREVIEW + 1)


def test_pages_go_on_where_they_ended(alice: Caller) -> None:
    for n in range(3):
        judge(alice, "exact-match", output=str(n), gold_answer="x")
    first = samples(alice, limit=2)
    second = samples(alice, limit=2, cursor=first.next_cursor)

    assert [row.output for page in (first, second) for row in page.rows] == ["2", "1", "0"]
    assert second.next_cursor is None


def test_others_see_nothing(alice: Caller, charlie: Caller) -> None:
    (id,) = judge(alice, "exact-match", output="a", gold_answer="a")

    assert samples(charlie).rows == []
    with account_scope(alice.account.pk):
        assert list_siblings(account=alice.account, evaluation=get_evaluation(account=alice.account, id=id)) == []


def test_siblings_are_of_the_request_and_of_the_log(alice: Caller) -> None:
    first, second = judge(alice, "exact-match", "pii", output="a", gold_answer="a", log_id="l-1")
    (third,) = judge(alice, "exact-match", output="b", gold_answer="a", log_id="l-1")
    judge(alice, "exact-match", output="c", gold_answer="a", log_id="l-2")
    with account_scope(alice.account.pk):
        found = list_siblings(account=alice.account, evaluation=get_evaluation(account=alice.account, id=first))

    assert [one.id for one in found] == [third, second]


def test_a_search_finds_what_was_asked_and_what_was_said(alice: Caller) -> None:
    (id,) = judge(alice, "exact-match", input="Where is the Eiffel Tower?", output="In 100% of maps", gold_answer="x")
    judge(alice, "exact-match", input="Who are you?", output="A bot", gold_answer="x")

    for field, pattern in (("evaluated_model_input", "%EIFFEL%"), ("evaluated_model_output", r"%100\% of%")):
        filters = [{"field": field, "operation": "ilike", "value": pattern}]
        found = ok(alice.post("/v1/evaluations/search", {"filters": filters}))["evaluations"]
        assert [one["id"] for one in found] == [str(id)]
