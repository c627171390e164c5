"""Comparisons that people judge, in a review of pairs."""

from __future__ import annotations

from typing import Any

from tests.caller import Caller
from tests.comparisons.shapes import COMPARISONS, compare, judgements, shown, work_off, work_off_all
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.reviews.shapes import REVIEWS, answered_experiment, new_review, pairs_of, send_answer, take

INVALID = "validation_failed"


def reviewed(caller: Caller, n: int = 4, **fields: Any) -> tuple[Any, Any]:
    made = answered_experiment(caller, n)
    return made, new_review(caller, pairs_of(made), **fields)


def say(caller: Caller, review: Any, *preferred: str, reviewer: str | None = None) -> None:
    """Answer the next pairs: by the text of the better one, or `tie`."""
    for text in preferred:
        held = take(caller, review, reviewer)
        sides = {shown["text"]: side for shown, side in zip(held["outputs"], ("first", "second"), strict=True)}
        ok(send_answer(caller, review, held, choice=sides.get(text, "tie")))


def by_people(review: Any) -> dict[str, str]:
    return {"review_id": review["id"]}


def test_what_people_answer_ranks(alice: Caller) -> None:
    made, review = reviewed(alice, 8)
    comparison = compare(alice, made, by_people(review))
    assert (comparison["n_open"], comparison["judge"]["kind"], comparison["judge"]["review_id"]) == (
        *(8, "people"),
        review["id"],
    )
    say(alice, review, "fine", "fine", "poor", "tie")
    half = work_off(alice, comparison)["comparison"]
    say(alice, review, *["fine"] * 4)
    found = work_off(alice, comparison)

    assert (half["state"], half["n_judged"], half["n_open"]) == ("running", 4, 4)
    assert (found["comparison"]["state"], found["comparison"]["n_judged"], found["comparison"]["n_ties"]) == (
        *("finished", 8),
        1,
    )
    assert [place["config"] for place in found["ranking"]["places"]] == ["good", "bad"]


def test_more_than_half_of_the_answers_hold_else_it_is_a_tie(alice: Caller) -> None:
    made, review = reviewed(alice, 1, n_answers=3)
    comparison = compare(alice, made, by_people(review))
    for reviewer, text in (("a", "fine"), ("b", "poor"), ("c", "tie")):
        assert work_off(alice, comparison)["comparison"]["n_open"] == 1
        say(alice, review, text, reviewer=reviewer)
    work_off(alice, comparison)

    (row,) = judgements(alice, comparison)
    assert (row["winner"], row["explanation"]) == ("tie", "1 of 3 for the first, 1 for the second, 1 for neither.")


def test_what_nobody_answered_is_an_error_once_the_review_is_closed(alice: Caller) -> None:
    made, review = reviewed(alice)
    comparison = compare(alice, made, by_people(review), design="baseline", baseline="bad")
    say(alice, review, "fine")
    ok(alice.post(f"{REVIEWS}/{review['id']}/close"))
    work_off_all()

    found = shown(alice, comparison)["comparison"]
    assert (found["state"], found["n_judged"], found["errors"]) == ("finished", 1, [{"code": "not_answered", "n": 3}])
    (judged,) = [row for row in judgements(alice, comparison) if row["winner"]]
    assert (judged["first"], judged["winner"]) == ("bad", "second")


def test_workers_are_told_only_when_there_is_something_to_judge(alice: Caller) -> None:
    from evalsvc.comparisons.judgements.store import list_due_comparisons

    made, review = reviewed(alice)
    id = int(compare(alice, made, by_people(review))["id"])
    waiting = id in [one for _, one in list_due_comparisons(10_000)]
    say(alice, review, "fine")

    assert (waiting, id in [one for _, one in list_due_comparisons(10_000)]) == (False, True)


def test_only_a_review_of_its_pairs_judges_an_experiment(alice: Caller, charlie: Caller) -> None:
    made, review = reviewed(alice)
    other, theirs = reviewed(charlie)
    foreign = {"experiment_id": made["id"], "judge": by_people(theirs)}
    wrong = {"experiment_id": answered_experiment(alice)["id"], "judge": by_people(review)}
    active = {"experiment_id": made["id"], "judge": by_people(review), "design": "active"}
    worded = {"experiment_id": made["id"], "judge": by_people(review) | {"criteria": "shorter"}}

    assert_problem(alice.post(COMPARISONS, foreign), INVALID, "/judge/review_id")
    assert_problem(alice.post(COMPARISONS, wrong), INVALID, "/judge/review_id")
    assert_problem(alice.post(COMPARISONS, active), INVALID, "/design")
    assert_problem(alice.post(COMPARISONS, worded), INVALID, "/judge/criteria")
    assert ok(charlie.get(f"{COMPARISONS}?experiment_id={other['id']}"))["comparisons"] == []


def test_an_answer_that_is_taken_away_opens_its_pair_again(alice: Caller) -> None:
    from evalsvc.reviews.models import ReviewAnswer, ReviewItem

    made, review = reviewed(alice)
    comparison = compare(alice, made, by_people(review))
    say(alice, review, "fine")
    before = work_off(alice, comparison)["comparison"]
    ReviewAnswer.objects.using("system").filter(review_id=review["id"]).delete()
    ReviewItem.objects.using("system").filter(review_id=review["id"]).update(n_answered=0)
    after = work_off(alice, comparison)["comparison"]

    assert (before["n_judged"], before["n_open"], after["n_judged"], after["n_open"]) == (1, 3, 0, 4)
