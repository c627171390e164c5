"""GET /v1/history with `truth`: what people would say of all scores, from a random draw of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.db import connections

from evalsvc.client.results.history import History
from evalsvc.evaluations.models import HistoryScore
from evalsvc.reviews.truth import _read_draw
from evalsvc.stats.truth.adjusted import running_interval
from evalsvc.stats.truth.answer import estimate_share_of_truth
from evalsvc.tenancy.scope import APP
from tests.annotations.shapes import label, new_criteria
from tests.conftest import Caller
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.reviews.draws import EVALUATIONS, HISTORY, answer_items, drawn, judged, send_scores
from tests.reviews.shapes import new_review, say_pass

N = 250


def truth(caller: Caller, criteria: Any, **query: Any) -> Any:
    asked = "".join(f"&{name}={value}" for name, value in query.items())
    return ok(caller.get(f"{HISTORY}&truth={criteria['id']}{asked}"))["truth"]


def test_it_is_the_estimate_of_the_draw(alice: Caller) -> None:
    send_scores(alice, judged(N))
    criteria = new_criteria(alice)
    review = drawn(alice, criteria, 100)
    values = [i % 3 != 0 for i in range(100)]
    answer_items(alice, review, criteria, ["pass" if value else "fail" for value in values])

    found = truth(alice, criteria, truth_width=0.15)

    assert (found["n"], found["population"], found["n_since"], found["n_more"]) == (100, N, 0, 0)
    assert (found["criteria_id"], found["review_id"]) == (criteria["id"], review["id"])
    assert (found["naive"], found["method"], found["reason"], found["warnings"]) == (0.8, "stratified", None, [])
    # The verdict of each item is in the order of the draw, from what the answer says of its strata.
    strata = {row["verdict"]: row for row in found["strata"]}
    assert {name: row["population"] for name, row in strata.items()} == {"pass": 200, "fail": 50}
    assert sum(row["n"] for row in strata.values()) == 100
    assert sum(row["successes"] for row in strata.values()) == sum(values)
    pairs = [
        (label_value, verdict)
        for verdict, row in ((True, strata["pass"]), (False, strata["fail"]))
        for label_value, n in ((True, row["successes"]), (False, row["n"] - row["successes"]))
        for _ in range(n)
    ]
    wanted = estimate_share_of_truth(
        [one for one, _ in pairs], [one for _, one in pairs], {True: 200, False: 50}, width=0.15
    )
    for name in ("estimate", "lower", "upper", "n_alone", "labels_saved", "n_for_width", "least_width"):
        assert found[name] == getattr(wanted, name), name
    assert wanted.kappa is not None and found["kappa"]["value"] == wanted.kappa.value
    assert found["this_set"]["lower"] > found["lower"]


def test_the_draw_is_random_and_of_this_history(alice: Caller) -> None:
    """The labels of another evaluator's rows, and of scores after the draw, are not among them."""
    send_scores(alice, judged(60))
    send_scores(alice, judged(40), evaluator_id="other")
    criteria = new_criteria(alice)
    everything = {"evaluations": {"filters": [{"field": "app", "operation": "eq", "value": "shop"}]}}
    review = new_review(alice, everything, criteria)
    answer_items(alice, review, criteria, ["pass"] * 100)
    send_scores(alice, judged(10))

    found = truth(alice, criteria)
    assert (found["n"], found["population"], found["n_since"]) == (60, 60, 10)
    assert (found["share_since"], found["warnings"]) == (pytest.approx(1 / 7), [])
    assert found["this_set"] == {"lower": 1.0, "upper": 1.0}


def test_few_labels_say_how_many_are_missing(alice: Caller) -> None:
    send_scores(alice, judged(100))
    criteria = new_criteria(alice)
    review = drawn(alice, criteria, 50)
    say_pass(alice, review, criteria, True, False, True)

    found = truth(alice, criteria)
    assert (found["n"], found["n_more"], found["reason"]) == (3, 17, "too_few_labels")
    assert (found["estimate"], found["lower"], found["running"]) == (None, None, None)


def test_the_newest_draw_with_labels_enough_is_used(alice: Caller) -> None:
    send_scores(alice, judged(60))
    criteria = new_criteria(alice)
    first, second = drawn(alice, criteria, 30), drawn(alice, criteria, 30, seed=8)
    answer_items(alice, first, criteria, ["pass"] * 25)
    assert truth(alice, criteria)["review_id"] == first["id"]
    answer_items(alice, second, criteria, ["pass"] * 20)
    assert truth(alice, criteria)["review_id"] == second["id"]
    assert truth(alice, criteria, truth_draw=first["id"])["review_id"] == first["id"]


def test_only_draws_that_matter_are_read(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five, the one with labels enough; where it is old the newest too, and without any the newest alone."""
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    reviews = [drawn(alice, criteria, 30) for _ in range(5)]
    read = list[str]()

    def record(account: Any, review: Any, *others: Any) -> Any:
        read.append(str(review.pk))
        return _read_draw(account, review, *others)

    monkeypatch.setattr("evalsvc.reviews.truth._read_draw", record)
    assert (truth(alice, criteria)["review_id"], read) == (reviews[4]["id"], [reviews[4]["id"]])
    answer_items(alice, reviews[1], criteria, ["pass"] * 20)
    read.clear()
    assert (truth(alice, criteria)["review_id"], read) == (reviews[1]["id"], [reviews[1]["id"]])
    send_scores(alice, judged(60))
    read.clear()
    found = truth(alice, criteria)
    assert (found["review_id"], found["warnings"]) == (reviews[1]["id"], ["old_draw"])
    assert read == [reviews[1]["id"], reviews[4]["id"]]


@pytest.mark.parametrize(
    "mark",
    ['"reviews_reviewitem" LEFT', '"evaluations_historyscore"."source_id" <', 'AS "request__tags"'],
)
def test_slow_reads_end(alice: Caller, monkeypatch: pytest.MonkeyPatch, mark: str) -> None:
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 30), criteria, ["pass"] * 30)
    monkeypatch.setattr("evalsvc.reviews.truth.TIMEOUT_SECONDS", 0.05)

    def slow(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        is_slow = mark in sql
        return execute("SELECT pg_sleep(5)", None, many, context) if is_slow else execute(sql, params, many, context)

    with connections[APP].execute_wrapper(slow):
        answer = alice.get(f"{HISTORY}&truth={criteria['id']}&truth_by=tags.city")
    assert "labelled scores took longer than" in assert_problem(answer, "search_too_slow")["detail"]
    assert truth(alice, criteria)["n"] == 30


def test_undecided_scores_are_a_stratum(alice: Caller) -> None:
    send_scores(alice, [*judged(60), *[None] * 20])
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 80), criteria, ["pass", "fail"] * 40)

    found = truth(alice, criteria)
    assert {row["verdict"]: (row["population"], row["n"]) for row in found["strata"]} == {
        "pass": (48, 48), "fail": (12, 12), "undecided": (20, 20),
    }  # fmt: skip
    assert (found["naive"], found["kappa"]["n"]) == (0.8, 60)
    assert found["this_set"] == {"lower": 0.5, "upper": 0.5}


def test_grades_have_a_mean(alice: Caller) -> None:
    send_scores(alice, judged(100))
    criteria = new_criteria(alice, "discrete")
    answer_items(alice, drawn(alice, criteria, 60), criteria, ["good", "fair", "bad"] * 20)

    found = truth(alice, criteria)
    assert (found["method"], found["strata"], found["kappa"], found["naive"]) == ("guarded-t", [], None, 0.8)
    assert found["lower"] < 0.5 < found["upper"]
    assert found["running"]["lower"] < found["lower"]


def test_a_scope_narrows_it(alice: Caller) -> None:
    send_scores(alice, judged(60))
    send_scores(alice, judged(30), app="other")
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 90), criteria, ["pass"] * 90)

    assert truth(alice, criteria)["population"] == 90
    assert truth(alice, criteria, **{"scope.app": "other"})["population"] == 30


def test_reviewers_who_see_scores_are_mentioned(alice: Caller) -> None:
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 30, show_scores=True), criteria, ["pass"] * 30)
    assert truth(alice, criteria)["warnings"] == ["scores_shown"]


def test_unequal_probabilities_of_rules_are_mentioned(alice: Caller) -> None:
    """The estimate is of the stored scores, each of which counts alike; the pass rate of the history is weighted."""
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 30), criteria, ["pass"] * 30)
    rows = HistoryScore.objects.using("system").filter(account_id=alice.account.pk)
    naive = truth(alice, criteria)["naive"]
    rows.update(probability=0.1)
    assert truth(alice, criteria)["warnings"] == []
    rows.filter(passed=False).update(probability=1.0)

    said = ok(alice.get(f"{HISTORY}&truth={criteria['id']}"))
    assert (said["truth"]["naive"], said["truth"]["warnings"]) == (naive, ["unweighted"])
    assert said["pass_rate"] > naive


def test_a_frame_that_has_changed_is_mentioned(alice: Caller) -> None:
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 30), criteria, ["pass"] * 30)
    newest = alice.post("/v1/evaluations/search", {"filters": EVALUATIONS["evaluations"]["filters"], "limit": 1}).json()
    assert alice.call("DELETE", f"/v1/evaluations/{newest['evaluations'][0]['id']}").status_code in (200, 204)

    found = truth(alice, criteria)
    assert (found["population"], found["warnings"]) == (39, ["frame_changed"])


def test_most_scores_since_make_a_draw_old(alice: Caller) -> None:
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 30), criteria, ["pass"] * 30)
    send_scores(alice, judged(60))

    found = truth(alice, criteria)
    assert (found["n_since"], found["share_since"], found["warnings"]) == (60, 0.6, ["old_draw"])
    assert found["first_at"] < found["last_at"] < found["drawn_at"]
    # Of the newest 50 as well: the draw is of 40 before it.
    newest = truth(alice, criteria, **{"since.scores": 50})
    assert (newest["population"], newest["n_since"], newest["share_since"]) == (40, 50, 1.0)
    read = History.read(ok(alice.get(f"{HISTORY}&truth={criteria['id']}"))).truth
    assert str(read).endswith("labels saved; 60 newer scores (60 %) are not covered")


def test_an_old_draw_is_left_for_a_new_one(alice: Caller) -> None:
    """As soon as it is drawn, the answer says how many labels of it are missing."""
    send_scores(alice, judged(30))
    criteria = new_criteria(alice)
    first = drawn(alice, criteria, 30)
    answer_items(alice, first, criteria, ["pass"] * 30)
    send_scores(alice, judged(40))
    assert (truth(alice, criteria)["review_id"], truth(alice, criteria)["warnings"]) == (first["id"], ["old_draw"])

    second = drawn(alice, criteria, 70)
    answer_items(alice, second, criteria, ["pass"] * 19)
    found = truth(alice, criteria)
    assert (found["review_id"], found["reason"], found["n_more"]) == (second["id"], "too_few_labels", 1)
    assert found["warnings"] == []
    # When the second is old as well, the first has an estimate at least.
    send_scores(alice, judged(100))
    assert (truth(alice, criteria)["review_id"], truth(alice, criteria)["warnings"]) == (first["id"], ["old_draw"])


def test_a_large_history_has_a_truth(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """More scores than can be drawn from: those before the draw are read in chunks, and the newer ones counted."""
    monkeypatch.setattr("evalsvc.reviews.sampling.frame.MAX_FRAME", 45)
    monkeypatch.setattr("evalsvc.reviews.truth.MAX_FRAME", 45)
    monkeypatch.setattr("evalsvc.reviews.truth.CHUNK", 7)
    send_scores(alice, judged(45))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 45), criteria, ["pass"] * 45)
    send_scores(alice, judged(30))

    found = truth(alice, criteria)
    assert (found["n"], found["population"], found["n_since"], found["naive"]) == (45, 45, 30, 0.8)
    newest = truth(alice, criteria, **{"since.scores": 20})
    assert (newest["n"], newest["population"], newest["n_since"]) == (20, 20, 20)


def test_a_draw_of_a_part_of_a_large_history_is_refused(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.reviews.truth.MAX_FRAME", 45)
    send_scores(alice, judged(30))
    send_scores(alice, judged(40), app="other")
    criteria = new_criteria(alice)
    other = {"filters": [*EVALUATIONS["evaluations"]["filters"], {"field": "app", "value": "other"}]}
    answer_items(alice, new_review(alice, {"evaluations": other}, criteria), criteria, ["pass"] * 40)

    assert "at most 45 of the scores" in refuse(alice, criteria)
    newest = truth(alice, criteria, **{"since.scores": 40})
    assert (newest["n"], newest["population"]) == (40, 40)


def test_an_emptied_draw_is_skipped(alice: Caller) -> None:
    """All that was drawn has been deleted: a new draw may be made, and has its say from the first label."""
    send_scores(alice, judged(20))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 20), criteria, ["pass"] * 20)
    rows = alice.post("/v1/evaluations/search", {"filters": EVALUATIONS["evaluations"]["filters"], "limit": 50}).json()
    for row in rows["evaluations"]:
        assert alice.call("DELETE", f"/v1/evaluations/{row['id']}").status_code in (200, 204)
    send_scores(alice, judged(30))

    assert "no item is left" in refuse(alice, criteria) and '"random"' in refuse(alice, criteria)
    review = drawn(alice, criteria, 30)
    assert (truth(alice, criteria)["review_id"], truth(alice, criteria)["n"]) == (review["id"], 0)
    answer_items(alice, review, criteria, ["pass"] * 25)
    assert (truth(alice, criteria)["n"], truth(alice, criteria)["population"]) == (25, 30)


def test_a_draw_without_its_items_is_skipped(alice: Caller) -> None:
    """The drawn ones are gone, others that they were drawn from are not: nothing of it can be labelled."""
    send_scores(alice, judged(30))
    criteria = new_criteria(alice)
    older = drawn(alice, criteria, 30)
    answer_items(alice, older, criteria, ["pass"] * 25)
    newer = drawn(alice, criteria, 3)
    for item in ok(alice.get(f"/v1/reviews/{newer['id']}/items"))["items"]:
        assert alice.call("DELETE", f"/v1/evaluations/{item['evaluation_id']}").status_code in (200, 204)

    assert truth(alice, criteria)["review_id"] == older["id"]
    assert "no item is left" in refuse(alice, criteria, truth_draw=newer["id"])


def test_labels_are_watched_in_the_order_of_their_answers(alice: Caller) -> None:
    """What comes later changes nothing of what was seen before: the second half of the draw is answered first."""
    send_scores(alice, [True] * 40)
    criteria = new_criteria(alice)
    review = drawn(alice, criteria, 40)
    answer_items(alice, review, criteria, ["fail"] * 20, skip=20)
    answer_items(alice, review, criteria, ["pass"] * 20)

    labels = np.repeat([0.0, 1.0], 20)
    wanted = running_interval(labels, np.ones(40), np.ones(40), level=0.95, limits=(0.0, 1.0))
    assert truth(alice, criteria)["running"] == {"lower": wanted[0], "upper": wanted[1]}
    assert wanted != running_interval(labels[::-1], np.ones(40), np.ones(40), level=0.95, limits=(0.0, 1.0))


def test_items_that_are_passed_over_leave_no_estimate(alice: Caller) -> None:
    """Answers to the last twenty of thirty drawn items: somebody picked."""
    send_scores(alice, judged(60))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 30), criteria, ["pass"] * 20, skip=10)

    found = truth(alice, criteria)
    assert (found["n"], found["reason"], found["estimate"]) == (20, "non_response", None)


# --- Refused ---------------------------------------------------------------------------------------------------------


def refuse(caller: Caller, criteria: Any, pointer: str = "/truth", **query: Any) -> str:
    asked = "".join(f"&{name}={value}" for name, value in query.items())
    answer = caller.get(f"{HISTORY}&truth={criteria['id']}{asked}")
    assert_problem(answer, "validation_failed", pointer)
    return str(answer.json()["errors"][0]["detail"])


def test_labels_of_picked_items_are_refused(alice: Caller) -> None:
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    label(alice, criteria, value_pass=True)

    detail = refuse(alice, criteria)
    assert "people picked" in detail and '"random"' in detail


def test_a_criteria_that_nobody_asks_is_refused(alice: Caller) -> None:
    send_scores(alice, judged(40))
    assert "No review asks" in refuse(alice, new_criteria(alice))


def test_an_uncertain_draw_is_for_finding(alice: Caller) -> None:
    send_scores(alice, [*judged(40), *[None] * 10])
    criteria = new_criteria(alice)
    review = new_review(alice, EVALUATIONS, criteria, sample={"method": "uncertain", "n": 20})

    assert "not for estimating" in refuse(alice, criteria)
    assert "not for estimating" in refuse(alice, criteria, "/truth_draw", truth_draw=review["id"])


def test_a_draw_that_leaves_scores_out_is_refused(alice: Caller) -> None:
    """A draw of failing scores only would say that people fail everything."""
    send_scores(alice, judged(50))
    criteria = new_criteria(alice)
    failing = {
        "filters": [*EVALUATIONS["evaluations"]["filters"], {"field": "pass", "operation": "eq", "value": False}]
    }
    review = new_review(alice, {"evaluations": failing}, criteria)
    answer_items(alice, review, criteria, ["fail"] * 10)

    assert "10 of the 50 scores" in refuse(alice, criteria)


def test_texts_have_no_truth(alice: Caller) -> None:
    assert "texts" in refuse(alice, new_criteria(alice, "text_annotation"))


@pytest.mark.parametrize(
    "query",
    ["truth_width=0", "truth_draw=x", "truth_width=0.1", "truth_draw=00000000-0000-4000-8000-000000000000"],
)
def test_wrong_options_are_refused(alice: Caller, query: str) -> None:
    assert alice.get(f"{HISTORY}&{query}").status_code in (400, 422)


def test_bob_may_look_and_charlie_finds_no_criteria(alice: Caller, bob: Caller, charlie: Caller) -> None:
    send_scores(alice, judged(40))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 30), criteria, ["pass"] * 30)

    assert truth(bob, criteria)["n"] == 30
    assert refuse(charlie, criteria) == "No such annotation criteria."


def test_the_client_reads_it(alice: Caller) -> None:
    send_scores(alice, judged(60))
    criteria = new_criteria(alice)
    review = drawn(alice, criteria, 40)
    before = History.read(ok(alice.get(f"{HISTORY}&truth={criteria['id']}"))).truth
    answer_items(alice, review, criteria, ["pass"] * 40)
    after = History.read(ok(alice.get(f"{HISTORY}&truth={criteria['id']}"))).truth

    assert str(before) == "people: no interval yet, 0 labels of 60 scores, 20 more needed"
    assert after is not None and after.lower is not None
    assert (after.estimate, after.upper, after.naive, after.review_id) == (1.0, 1.0, 0.8, review["id"])
    assert str(after).startswith(f"people: 1.000 [{after.lower:.3f}, 1.000], 40 labels of 60 scores, ")
    assert History.read(ok(alice.get(HISTORY))).truth is None


def test_a_history_without_the_question_has_no_truth(alice: Caller) -> None:
    send_scores(alice, judged(10))
    assert "truth" not in ok(alice.get(HISTORY))
