"""The page of a review, without a script: for members, with forms that answer once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections
from django.test import Client

from evalsvc.console.pages.reviews import entry
from evalsvc.tenancy.scope import APP
from tests.admin.conftest import join, new_user, signed_in
from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.reviews.linking import fields_of, new_link, queue_of, visitor
from tests.reviews.shapes import (
    answered_experiment,
    expire_leases,
    items,
    new_review,
    outputs_of,
    pairs_of,
    report,
    review_of_outputs,
    take,
)

HOSTILE = "<script>alert(1)</script>\u202e مرحبا \"'&{{ 7 }}"


def member(caller: Caller, role: str = "editor") -> Client:
    user = new_user()
    join(user, caller.account, role)
    client: Client = signed_in(user).client
    return client


def answer(client: Client, review: Any, **values: str) -> Any:
    return client.post(queue_of(review), fields_of(client.get(queue_of(review))) | values)


def said(caller: Caller, review: Any) -> list[Any]:
    return [one["answers"] for item in items(caller, review) for one in item["answers"]]


def test_a_member_answers_one_item_after_the_other(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 2)
    client, field = member(alice), f"q-{criteria['id']}"
    for verdict in ("pass", "fail"):
        assert answer(client, review, **{field: verdict}).status_code == 303

    assert said(alice, review) == [{criteria["id"]: {"value_pass": verdict}} for verdict in (True, False)]
    assert "No more items for you" in client.get(queue_of(review)).content.decode()


def test_sent_twice_it_is_kept_once(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)
    client = member(alice)
    fields = fields_of(client.get(queue_of(review))) | {f"q-{criteria['id']}": "pass"}
    locations = [client.post(queue_of(review), fields)["Location"] for _ in range(2)]

    assert locations == [queue_of(review)] * 2
    assert report(alice, review)["n_answers_given"] == 1


def test_too_late_it_says_so_and_goes_on(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 1)
    client = member(alice)
    fields = fields_of(client.get(queue_of(review))) | {f"q-{criteria['id']}": "pass"}
    expire_leases(review)
    take(alice, review, "ben")

    location = client.post(queue_of(review), fields)["Location"]
    assert "someone else has it now" in client.get(location).content.decode()
    assert said(alice, review) == []


def test_an_answer_can_be_taken_back(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)
    client, field = member(alice), f"q-{criteria['id']}"
    answer(client, review, **{field: "pass"}, explanation="clear")
    back = client.post(queue_of(review), {"action": "undo"})["Location"]
    page = client.get(back)

    assert "changing an earlier answer" in page.content.decode() and "clear" in page.content.decode()
    client.post(queue_of(review), fields_of(page) | {field: "fail", "revise": "1"})
    assert said(alice, review) == [{criteria["id"]: {"value_pass": False}}]


def test_what_was_passed_over_can_be_taken_back(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    client = member(alice)
    first = fields_of(client.get(queue_of(review)))["item"]
    second = fields_of(client.get(answer(client, review, action="skip")["Location"]))["item"]
    client.post(queue_of(review), {"action": "undo"})

    assert first != second
    assert fields_of(client.get(queue_of(review)))["item"] == first


def test_pairs_are_answered_by_side(alice: Caller) -> None:
    review = new_review(alice, pairs_of(answered_experiment(alice)))
    client = member(alice)
    assert answer(client, review, choice="tie").status_code == 303

    assert [one["answers"][0]["outcome"] for one in items(alice, review, status="complete")] == ["tie"]


def test_several_questions_are_answered_at_once(alice: Caller) -> None:
    kinds = ("binary", "continuous", "categorical", "text_annotation")
    asked = [new_criteria(alice, kind) for kind in kinds]
    review = new_review(alice, outputs_of(answered_experiment(alice), "good"), *asked)
    client = member(alice)
    values = dict(zip((f"q-{one['id']}" for one in asked), ("fail", "0,5", "1", "سلام"), strict=True))
    assert answer(client, review, **values).status_code == 303

    ((kept),) = said(alice, review)
    wanted = ({"value_pass": False}, {"value_score": 0.5}, {"value_text": "fair"}, {"value_text": "سلام"})
    assert kept == dict(zip((one["id"] for one in asked), wanted, strict=True))


def test_what_is_missing_is_named_and_what_was_typed_stays(alice: Caller) -> None:
    asked = [new_criteria(alice, "binary"), new_criteria(alice, "text_annotation")]
    review = new_review(alice, outputs_of(answered_experiment(alice), "good"), *asked)
    shown = answer(member(alice), review, **{f"q-{asked[1]['id']}": "typed <b>"})

    assert shown.status_code == 422
    assert f"Not answered: {asked[0]['name']}" in shown.content.decode()
    assert "typed &lt;b&gt;" in shown.content.decode()


@pytest.mark.parametrize("place", ["output", "name", "instructions"])
def test_hostile_text_is_text(alice: Caller, place: str) -> None:
    made = answered_experiment(alice, good=HOSTILE if place == "output" else "fine")
    fields = {place: HOSTILE.replace("\u202e", "")} if place != "output" else {}
    review = new_review(alice, outputs_of(made, "good"), new_criteria(alice), **fields)
    page = member(alice).get(queue_of(review)).content.decode()

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page and "مرحبا" in page


def test_a_long_text_is_folded(alice: Caller) -> None:
    made = answered_experiment(alice, good="word " * 2000)
    review = new_review(alice, outputs_of(made, "good"), new_criteria(alice))
    page = member(alice).get(queue_of(review)).content.decode()

    assert "Show the rest (8" in page
    assert page.count("word") == 2000


def test_its_old_address_leads_to_it(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    client = member(alice)

    assert client.get(f"/reviews/{review['id']}")["Location"] == queue_of(review)
    assert client.get(f"/reviews/{review['id']}", follow=True).status_code == 200


def test_the_next_item_comes_without_the_page_around_it(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 2)
    client = member(alice)
    fields = fields_of(client.get(queue_of(review))) | {f"q-{criteria['id']}": "pass"}
    part = client.post(queue_of(review), fields, headers={"HX-Request": "true"}, follow=True).content

    assert part.startswith(b'<div id="queue">') and b"1 of 2" in part
    assert len(part) < 8000


def test_two_people_do_not_get_the_same_item(alice: Caller) -> None:
    review, _ = review_of_outputs(alice, 2)
    held = [fields_of(member(alice).get(queue_of(review)))["item"] for _ in range(2)]

    assert len({*held}) == 2
    assert "waits for them" in member(alice).get(queue_of(review)).content.decode()


def test_it_opens_in_whichever_account_it_belongs_to(alice: Caller, charlie: Caller) -> None:
    review, _ = review_of_outputs(alice)
    user = new_user()
    join(user, charlie.account, "admin")
    join(user, alice.account, "editor")

    client = signed_in(user).client
    client.post("/console/accounts", {"account": charlie.account.pk})

    page = client.get(queue_of(review))
    assert (
        page.status_code == 200
        and f'href="/console/{alice.account.pk}/reviews/{review["id"]}">About this review' in page.content.decode()
    )


def test_who_may_look_only_is_told_so(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)

    assert member(alice, "reader").get(queue_of(review)).status_code == 403


def test_a_stranger_finds_nothing(alice: Caller, charlie: Caller) -> None:
    review, _ = review_of_outputs(alice)

    assert member(charlie).get(queue_of(review)).status_code == 404


def test_who_is_not_signed_in_is_asked_to(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    answer = Client().get(queue_of(review))

    assert (answer.status_code, answer["Location"]) == (
        302,
        f"/console/sign-in?next=%2Fconsole%2Freviews%2F{review['id']}%2Fqueue",
    )


def test_another_site_answers_nothing(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)
    user = new_user()
    join(user, alice.account, "editor")
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    fields = fields_of(client.get(queue_of(review))) | {f"q-{criteria['id']}": "pass", "csrfmiddlewaretoken": ""}

    assert client.post(queue_of(review), fields).status_code == 403
    assert said(alice, review) == []


def test_one_person_cannot_answer_for_another(alice: Caller) -> None:
    """A token of somebody else is not shown, and an item of one's own is needed to see what was typed."""
    review, _ = review_of_outputs(alice)
    fields = fields_of(member(alice).get(queue_of(review)))
    fields["token"] = "6f1f3f1f-0c11-4c55-8a21-5a3b0c7e90b2"

    assert "note=late" in member(alice).post(queue_of(review), fields)["Location"]


def test_a_nul_is_refused_to_members_and_to_holders_of_links(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 2)
    for client in (member(alice), visitor(new_link(alice, review))):
        wrong = answer(client, review, **{f"q-{criteria['id']}": "pass"}, explanation="a\0b")
        assert wrong.status_code == 400 and b"contains a NUL" in wrong.content
        assert client.get(queue_of(review), {"item": "\0"}).status_code == 400
        assert answer(client, review, **{f"q-{criteria['id']}": "pass"}, explanation="ab").status_code == 303


def test_a_place_of_thousands_of_digits_is_no_answer(alice: Caller) -> None:
    wanted = new_criteria(alice, "categorical")
    review = new_review(alice, outputs_of(answered_experiment(alice), "good"), wanted)

    assert answer(member(alice), review, **{f"q-{wanted['id']}": "9" * 5000}).status_code == 422
    assert said(alice, review) == []


def test_a_statement_that_takes_too_long_is_ended(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    review, _ = review_of_outputs(alice)
    monkeypatch.setattr(entry, "MEMBER_STATEMENT_TIMEOUT", "50ms")

    def slow(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        is_slow = "reviews_reviewitem" in sql
        return execute("SELECT pg_sleep(5)", None, many, context) if is_slow else execute(sql, params, many, context)

    client = visitor(new_link(alice, review))
    with connections[APP].execute_wrapper(slow):
        shown = client.get(queue_of(review))
    assert shown.status_code == 503
    assert client.get(queue_of(review)).status_code == 200
