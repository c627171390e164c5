"""Answers: given out once at a time, kept once, and labels beside the scores of what they are about."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.annotations.shapes import VALUES, history, new_criteria
from tests.conftest import Caller
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.reviews.shapes import (
    REVIEWS,
    answered_experiment,
    expire_leases,
    items,
    new_review,
    pairs_of,
    report,
    review_of_outputs,
    say_pass,
    send_answer,
    take,
)

PASS = {"value_pass": True}


def test_an_item_is_in_one_pair_of_hands(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    held = [take(alice, review, name)["item_id"] for name in ("ann", "ben", "cleo", "dora")]

    assert len(set(held)) == 4
    assert take(alice, review, "emma") is None


def test_asked_again_one_gets_what_one_has(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    first, again = take(alice, review, "ann"), take(alice, review, "ann")

    assert (first["item_id"], first["lease_token"]) == (again["item_id"], again["lease_token"])


def test_it_names_no_config_and_no_score(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    held = take(alice, review)

    assert held["outputs"] == [{"text": "fine", "scores": None}]
    assert (held["others"], held["kind"]) == (None, "output")
    assert "good" not in str(held)


def test_scores_are_shown_where_they_may_be(alice: Caller) -> None:
    review, _ = review_of_outputs(alice, show_scores=True)

    (shown,) = take(alice, review)["outputs"]
    assert [(one["name"], one["value"]) for one in shown["scores"]] == [("accuracy", 0.0)]


def test_others_are_shown_where_they_may_be(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 1, n_answers=2, show_answers=True)
    say_pass(alice, review, criteria, True, reviewer="ann")

    (other,) = take(alice, review, "ben")["others"]
    assert other["answers"] == {criteria["id"]: PASS}
    assert "ann" not in str(other)


def test_expected_answers_can_be_left_out(alice: Caller) -> None:
    shown, hidden = (review_of_outputs(alice, show_expected=flag)[0] for flag in (True, False))

    assert take(alice, shown)["expected"] is not None
    assert take(alice, hidden)["expected"] is None


def test_repeated_it_is_kept_once(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)
    held = take(alice, review)
    first, again = (ok(send_answer(alice, review, held, (criteria, PASS)))["answer"] for _ in range(2))

    assert first == again
    assert report(alice, review)["n_answers_given"] == 1


def test_two_at_once_are_one(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)
    held = take(alice, review)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send_answer(alice, review, held, (criteria, PASS)), range(4)))

    assert {answer.status_code for answer in answers} == {200}
    assert report(alice, review)["n_answers_given"] == 1


def test_four_who_ask_at_once_get_four_items(alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    with ThreadPoolExecutor(4) as pool:
        held = list(pool.map(lambda name: take(alice, review, name)["item_id"], "abcd"))

    assert len(set(held)) == 4


def test_another_answer_needs_to_say_that_it_is_one(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)
    held = take(alice, review)
    ok(send_answer(alice, review, held, (criteria, PASS)))
    other = (criteria, {"value_pass": False})

    assert_problem(send_answer(alice, review, held, other), "already_answered")
    revised = ok(send_answer(alice, review, held, other, revise=True))["answer"]
    assert (revised["answers"], revised["n_earlier"]) == ({criteria["id"]: {"value_pass": False}}, 1)
    assert history(alice, criteria)["n"] == 1


def test_too_late_is_refused_once_somebody_else_has_it(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 1)
    held = take(alice, review, "ann")
    expire_leases(review)
    passed_on = take(alice, review, "ben")

    assert passed_on["item_id"] == held["item_id"]
    assert_problem(send_answer(alice, review, held, (criteria, PASS)), "lease_lost")
    ok(send_answer(alice, review, passed_on, (criteria, PASS)))


def test_late_is_kept_while_nobody_else_has_it(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 1)
    held = take(alice, review, "ann")
    expire_leases(review)

    ok(send_answer(alice, review, held, (criteria, PASS)))
    assert report(alice, review)["state"] == "complete"


def test_a_token_of_another_item_is_none(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)
    first, second = take(alice, review, "ann"), take(alice, review, "ben")

    forged = first | {"lease_token": second["lease_token"]}
    assert_problem(send_answer(alice, review, forged, (criteria, PASS)), "lease_lost")


def test_nobody_answers_an_item_twice(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 1, n_answers=2)
    say_pass(alice, review, criteria, True, reviewer="ann")

    assert take(alice, review, "ann") is None
    assert take(alice, review, "ben") is not None


def test_what_is_passed_over_waits_for_others(alice: Caller) -> None:
    review, _ = review_of_outputs(alice, 1)
    held = take(alice, review, "ann")
    path = f"{REVIEWS}/{review['id']}/items/{held['item_id']}/skip"
    for _ in range(2):
        assert alice.post(path, {"lease_token": held["lease_token"]}).status_code == 204

    assert take(alice, review, "ann") is None
    assert take(alice, review, "ben")["item_id"] == held["item_id"]
    assert (report(alice, review)["n_skipped"], report(alice, review)["n_pending"]) == (1, 1)


@pytest.mark.parametrize(
    ("answers", "pointer"),
    [
        ([], "/answers"),
        ([{"criteria": "other"}], "/answers/0/criteria"),
        ([{"value_score": 1}], "/answers/0/value_score"),
        ([{}], "/answers/0/value_pass"),
        ([PASS, PASS], "/answers/1/criteria"),
    ],
)
def test_it_says_what_does_not_answer_the_question(alice: Caller, answers: list[Any], pointer: str) -> None:
    review, criteria = review_of_outputs(alice)
    held = take(alice, review)
    body = {"lease_token": held["lease_token"], "answers": [{"criteria": criteria["id"]} | one for one in answers]}

    answer = alice.post(f"{REVIEWS}/{review['id']}/items/{held['item_id']}/answers", body)
    assert_problem(answer, "validation_failed", pointer)


# --- Labels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", VALUES)
def test_every_type_of_criteria_is_answered(alice: Caller, kind: str) -> None:
    review, criteria = review_of_outputs(alice, 1, kind)
    held = take(alice, review)
    ok(send_answer(alice, review, held, (criteria, VALUES[kind]), explanation="so"))

    (label,) = ok(alice.get("/v1/annotations"))["annotations"]
    assert {name: label[name] for name in VALUES[kind]} == VALUES[kind]
    assert (label["type"], label["explanation"]) == ("log", "so")


def test_the_label_of_an_output_belongs_to_its_experiment(alice: Caller) -> None:
    criteria, made = new_criteria(alice), answered_experiment(alice)
    review = new_review(alice, {"outputs": {"experiment_id": made["id"]}}, criteria)
    say_pass(alice, review, criteria, True)

    (label,) = ok(alice.get("/v1/annotations"))["annotations"]
    output_id = next(one["output_id"] for one in items(alice, review, status="complete"))
    assert (label["experiment_id"], label["reference"]) == (int(made["id"]), f"output-{output_id}")


def test_the_label_of_an_evaluation_is_of_its_log(alice: Caller) -> None:
    alice.evaluate("exact-match", output="a", label="b", log_id="log-1", app="shop")
    criteria = new_criteria(alice)
    review = new_review(alice, {"evaluations": {"filters": []}}, criteria)
    say_pass(alice, review, criteria, False)

    (label,) = ok(alice.get("/v1/annotations"))["annotations"]
    assert (label["type"], label["reference"], label["value_pass"]) == ("log", "log-1", False)


def test_several_people_make_one_label(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 1, n_answers=3)
    passed = []
    for reviewer, verdict in (("ann", True), ("ben", False), ("cleo", False)):
        say_pass(alice, review, criteria, verdict, reviewer=reviewer)
        (label,) = ok(alice.get("/v1/annotations"))["annotations"]
        passed.append((label["value_pass"], label["value_text"]))

    assert passed == [(True, None), (None, "no majority"), (False, None)]
    assert history(alice, criteria)["n"] == 1


def test_criteria_that_are_deleted_meanwhile_stay_what_is_asked(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 1)
    alice.call("DELETE", f"/v1/annotation-criteria/{criteria['id']}")
    say_pass(alice, review, criteria, True)

    assert report(alice, review)["state"] == "complete"
    assert history(alice, criteria)["n"] == 1


# --- Pairs -----------------------------------------------------------------------------------------------------------


def test_sides_are_shuffled_and_mapped_back(alice: Caller) -> None:
    review = new_review(alice, pairs_of(answered_experiment(alice, 8)))
    sides = []
    for _ in range(8):
        held = take(alice, review)
        shown = [one["text"] for one in held["outputs"]]
        sides.append(shown[0])
        ok(send_answer(alice, review, held, choice="first" if shown[0] == "fine" else "second"))

    assert set(sides) == {"fine", "poor"}
    assert {one["answers"][0]["outcome"] for one in items(alice, review)} == {"first"}


def test_a_pair_takes_a_choice_and_nothing_else(alice: Caller) -> None:
    review = new_review(alice, pairs_of(answered_experiment(alice)))
    held = take(alice, review)

    assert_problem(send_answer(alice, review, held), "validation_failed", "/choice")
    assert_problem(send_answer(alice, review, held, choice="left"), "validation_failed", "/choice")
