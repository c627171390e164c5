"""Rules on `truth`: the interval of GET /v1/history decides, and too few labels decide nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.factories import ok
from tests.gates.shapes import ask, refused
from tests.reviews.draws import HISTORY, answer_items, drawn, judged, send_scores

LABELS = ["pass"] * 3 + ["fail"]


def labelled(caller: Caller, n: int, values: list[str] | None = None) -> Any:
    """250 scores, of which 200 are drawn and n labelled: three of four pass."""
    send_scores(caller, judged(250))
    criteria = new_criteria(caller)
    answer_items(caller, drawn(caller, criteria, 200), criteria, (values or LABELS * 50)[:n])
    return criteria


def of(criteria: Any, **fields: Any) -> Any:
    return {"history": {"evaluator": "external:judge", "truth": criteria["id"], **fields}}


def at_least(limit: float) -> Any:
    return {"metric": "truth", "at_least": limit}


def test_it_is_the_interval_of_the_history(alice: Caller) -> None:
    criteria = labelled(alice, 200)
    truth = ok(alice.get(f"{HISTORY}&truth={criteria['id']}&level=0.9"))["truth"]

    gate = ask(alice, of(criteria), at_least(truth["lower"] - 1e-9), level=0.9)

    (rule,) = gate["rules"]
    assert gate["outcome"] == "pass" and rule["about_n_more"] == 0
    for name in ("estimate", "lower", "upper", "n", "method"):
        assert rule[name] == truth[name], name
    assert (rule["level_of_ends"], rule["interval_level"], rule["level_to_fail"]) == pytest.approx((0.9, 0.9, 0.9))
    for name in ("criteria_id", "review_id", "drawn_at", "population", "n_since", "naive"):
        assert rule["truth"][name] == truth[name], name
    assert (gate["history"]["truth"], gate["history"]["truth_draw"]) == (criteria["id"], None)
    assert "from 200 labels of 250 scores. It holds." in rule["says"]


def test_each_end_decides_on_its_side(alice: Caller) -> None:
    criteria = labelled(alice, 200)
    truth = ok(alice.get(f"{HISTORY}&truth={criteria['id']}"))["truth"]
    low, high = truth["lower"], truth["upper"]

    def outcome(**limit: float) -> str:
        return str(ask(alice, of(criteria), {"metric": "truth", **limit})["outcome"])

    assert [outcome(at_least=limit) for limit in (low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6)] == [
        "pass", "undecided", "undecided", "fail",
    ]  # fmt: skip
    assert [outcome(at_most=limit) for limit in (low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6)] == [
        "fail", "undecided", "undecided", "pass",
    ]  # fmt: skip


def test_too_few_labels_are_undecided_and_counted(alice: Caller) -> None:
    gate = ask(alice, of(labelled(alice, 3)), at_least(0.1))

    (rule,) = gate["rules"]
    assert (gate["outcome"], rule["reason"], rule["about_n_more"], gate["about_n_more"]) == (
        "undecided", "too_few_labels", 17, 17,
    )  # fmt: skip
    assert (rule["estimate"], rule["lower"], rule["n"]) == (None, None, 3)
    assert rule["says"].endswith("Nothing is shown: an interval needs 20 labels, and 17 are missing.")
    assert "About 17 more labels would settle it." in gate["summary"]
    junit = alice.get(f"/v1/gates/{gate['id']}?format=junit").content.decode()
    assert 'failures="1" errors="0"' in junit and 'type="undecided"' in junit


def test_items_that_are_passed_over_decide_nothing(alice: Caller) -> None:
    send_scores(alice, judged(60))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 40), criteria, ["pass"] * 30, skip=10)

    (rule,) = ask(alice, of(criteria), at_least(0.1))["rules"]
    assert (rule["outcome"], rule["reason"], rule["about_n_more"]) == ("undecided", "non_response", None)


def test_so_many_more_labels_settle_it(alice: Caller) -> None:
    """Labels as before, for the missing number, give an interval beyond the limit."""
    values = LABELS * 50
    criteria = labelled(alice, 40, values)
    limit = 0.64
    before = ask(alice, of(criteria), at_least(limit))
    n_more = before["rules"][0]["about_n_more"]
    assert before["outcome"] == "undecided" and 10 < n_more < 160
    assert f"About {n_more} more labels would settle it." in before["rules"][0]["says"]

    other = new_criteria(alice, name="again")
    answer_items(alice, drawn(alice, other, 200, seed=5), other, values[: 40 + n_more])
    after = ask(alice, of(other), at_least(limit))["rules"][0]
    # What an unlucky draw would take from the margin is left.
    assert after["lower"] > limit - 0.02


def test_it_is_decided_among_others(alice: Caller) -> None:
    """80 % of the verdicts pass and 75 % of the labels: one rule holds, the other does not."""
    criteria = labelled(alice, 200)

    gate = ask(alice, of(criteria), {"metric": "pass", "at_least": 0.7}, at_least(0.9), at_least(0.5))

    assert [rule["outcome"] for rule in gate["rules"]] == ["pass", "fail", "pass"]
    assert gate["outcome"] == "fail"
    assert gate["rules"][1]["level_to_fail"] == pytest.approx(1 - 0.05 / 3)
    assert gate["rules"][0]["truth"] is None


def test_a_scope_and_a_draw_can_be_named(alice: Caller) -> None:
    send_scores(alice, judged(60))
    send_scores(alice, judged(40), app="other")
    criteria = new_criteria(alice)
    review = drawn(alice, criteria, 100)
    answer_items(alice, review, criteria, ["pass"] * 100)

    gate = ask(alice, of(criteria, scope={"app": "other"}, truth_draw=review["id"]), at_least(0.8))
    assert (gate["rules"][0]["truth"]["population"], gate["history"]["truth_draw"]) == (40, review["id"])
    assert gate["outcome"] == "pass"


def test_what_cannot_be_asked_is_refused(alice: Caller, bob: Caller) -> None:
    criteria = labelled(alice, 30)
    plain = {"history": {"evaluator": "external:judge"}}

    assert "/rules/0/metric" in refused(alice, plain, at_least(0.8))
    assert "/history/truth" in refused(alice, of(criteria), {"metric": "pass", "at_least": 0.8})
    assert "/history/truth_draw" in refused(
        alice,
        {"history": plain["history"] | {"truth_draw": criteria["id"]}},
        {"metric": "pass", "at_least": 0.8},
    )
    assert "/rules/0/at_least" in refused(alice, of(criteria), at_least(80))
    assert "/rules/0/quantile" in refused(alice, of(criteria), at_least(0.8) | {"quantile": 0.5})
    assert "/rules/0/value_range" in refused(alice, of(criteria), at_least(0.8) | {"value_range": [0, 1]})
    assert "No review asks" in refused(alice, of(new_criteria(alice, name="unasked")), at_least(0.8))["/history/truth"]
    assert "/history/truth" in refused(alice, of({"id": "of nobody"}), at_least(0.8))
    assert bob.post("/v1/gates", of(criteria) | {"rules": [at_least(0.8)]}).status_code == 403


def test_charlie_finds_no_criteria(alice: Caller, charlie: Caller) -> None:
    criteria = labelled(alice, 30)
    send_scores(charlie, judged(10))
    assert refused(charlie, of(criteria), at_least(0.8)) == {"/history/truth": "No such annotation criteria."}
