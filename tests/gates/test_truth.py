"""Rules on `truth`: the interval of GET /v1/history decides, and too few labels or an old draw decide nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from evalsvc.client.resources.gates import RuleRecord
from evalsvc.evaluations.models import HistoryScore
from evalsvc.gates.answers import RuleTruth
from evalsvc.reviews import truth as reviews_truth
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


def at_least(limit: float, **fields: Any) -> Any:
    return {"metric": "truth", "at_least": limit, **fields}


def read_truth(caller: Caller, criteria: Any, query: str = "") -> Any:
    return ok(caller.get(f"{HISTORY}&truth={criteria['id']}{query}"))["truth"]


def test_it_is_the_interval_of_the_history(alice: Caller) -> None:
    criteria = labelled(alice, 200)
    truth = read_truth(alice, criteria, "&level=0.9")

    gate = ask(alice, of(criteria), at_least(truth["lower"] - 1e-9, looks="one"), level=0.9)

    (rule,) = gate["rules"]
    assert gate["outcome"] == "pass" and rule["about_n_more"] == 0
    for name in ("estimate", "lower", "upper", "n", "method"):
        assert rule[name] == truth[name], name
    assert (rule["level_of_ends"], rule["interval_level"], rule["level_to_fail"]) == pytest.approx((0.9, 0.9, 0.9))
    assert (gate["history"]["truth"], gate["history"]["truth_draw"]) == (criteria["id"], None)


def test_it_is_the_interval_of_every_look(alice: Caller) -> None:
    """People label more and ask again, so that the fixed-sample interval would be wrong too often."""
    criteria = labelled(alice, 200)
    truth = read_truth(alice, criteria)
    running = truth["running"]
    assert running["lower"] < truth["lower"] < truth["upper"] < running["upper"]

    gate = ask(alice, of(criteria), at_least(running["lower"] - 1e-9))

    (rule,) = gate["rules"]
    assert (gate["outcome"], rule["lower"], rule["upper"]) == ("pass", running["lower"], running["upper"])
    assert (rule["method"], rule["truth"]["looks"], rule["estimate"]) == ("betting", "watched", truth["estimate"])
    markdown = alice.get(f"/v1/gates/{gate['id']}?format=md").content.decode()
    assert "both 5 %, at all looks together" in markdown and "safe while watched" in markdown
    page = alice.get(f"/v1/gates/{gate['id']}?format=html").content.decode()
    assert "<dt>Looks</dt><dd>safe while watched</dd>" in page
    junit = alice.get(f"/v1/gates/{gate['id']}?format=junit").content.decode()
    assert '<property name="looks" value="watched" />' in junit


def test_it_says_which_rows_it_is_of(alice: Caller) -> None:
    """The 200 newest before the draw, all of which are labelled; 10 have come since."""
    send_scores(alice, judged(250))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 250), criteria, ["pass"] * 250)
    send_scores(alice, judged(10))
    truth = read_truth(alice, criteria, "&since.scores=200")

    gate = ask(alice, of(criteria, since={"scores": 200}), at_least(0.5))

    (rule,) = gate["rules"]
    names = ("criteria_id", "review_id", "drawn_at", "population", "n_since", "share_since", "first_at", "last_at")
    for name in (*names, "naive"):
        assert rule["truth"][name] == truth[name], name
    assert (rule["truth"]["population"], rule["truth"]["n_since"], rule["truth"]["share_since"]) == (200, 10, 0.05)
    assert rule["truth"]["first_at"] < rule["truth"]["last_at"] < rule["truth"]["drawn_at"]
    first, last, day = (rule["truth"][name][:10] for name in ("first_at", "last_at", "drawn_at"))
    days = first if first == last else f"{first} to {last}"
    rows = f"200 labels of 200 scores of {days}, drawn on {day}; 10 newer scores (5 %) are not covered"
    assert f"from {rows}. It holds." in rule["says"]
    for format in ("md", "html"):
        assert rows in alice.get(f"/v1/gates/{gate['id']}?format={format}").content.decode(), format
    assert str(RuleRecord.read(rule)).endswith("n = 200; 10 newer scores (5 %) are not covered")


def test_an_old_draw_decides_nothing(alice: Caller) -> None:
    """Of 60 labels all pass; half of the scores may be newer than the draw, and not more."""
    send_scores(alice, judged(60))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 60), criteria, ["pass"] * 60)
    send_scores(alice, judged(60))
    half = ask(alice, of(criteria), at_least(0.5), {"metric": "truth", "at_most": 0.5})
    assert [rule["outcome"] for rule in half["rules"]] == ["pass", "fail"]
    assert "60 newer scores (50 %) are not covered" in half["rules"][0]["says"]
    send_scores(alice, judged(1))

    gate = ask(alice, of(criteria), at_least(0.5), {"metric": "truth", "at_most": 0.5})

    assert gate["outcome"] == "undecided"
    for rule in gate["rules"]:
        assert (rule["outcome"], rule["reason"], rule["about_n_more"]) == ("undecided", "old_draw", None)
        assert rule["says"].endswith("newer than the draw. Draw again, and label these items.")
        assert rule["lower"] is not None and rule["warnings"] == ["old_draw"]
        assert str(RuleRecord.read(rule)).endswith("61 newer scores (50 %) are not covered; draw again")
    # Of the newest 40 the draw covers none.
    newest = ask(alice, of(criteria, since={"scores": 40}), at_least(0.5))["rules"][0]
    assert (newest["reason"], newest["truth"]["n_since"], newest["truth"]["share_since"]) == ("old_draw", 40, 1.0)
    # It says what to do, and that helps.
    answer_items(alice, drawn(alice, criteria, 121), criteria, ["pass"] * 121)
    assert ask(alice, of(criteria), at_least(0.5))["outcome"] == "pass"


def test_unequal_probabilities_decide_nothing(alice: Caller) -> None:
    """What passes is drawn at 0.1 and the rest at 1: a label of either counts alike, and the traffic does not."""
    send_scores(alice, judged(60))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 60), criteria, ["pass"] * 60)
    rows = HistoryScore.objects.using("system").filter(account_id=alice.account.pk)
    rows.update(probability=0.1)
    rules = (at_least(0.5), {"metric": "truth", "at_most": 0.5})
    assert [rule["outcome"] for rule in ask(alice, of(criteria), *rules)["rules"]] == ["pass", "fail"]
    rows.filter(passed=False).update(probability=1.0)

    for rule in ask(alice, of(criteria), *rules)["rules"]:
        assert (rule["outcome"], rule["reason"], rule["about_n_more"]) == ("undecided", "unweighted", None)
        assert rule["says"].endswith("Give it the `scope` of one rule with one rate.")


@pytest.mark.parametrize("looks", ["one", "watched"])
def test_each_end_decides_on_its_side(alice: Caller, looks: str) -> None:
    criteria = labelled(alice, 200)
    truth = read_truth(alice, criteria)
    ends = truth if looks == "one" else truth["running"]
    low, high = ends["lower"], ends["upper"]

    def outcome(**limit: float) -> str:
        return str(ask(alice, of(criteria), {"metric": "truth", "looks": looks, **limit})["outcome"])

    assert [outcome(at_least=limit) for limit in (low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6)] == [
        "pass", "undecided", "undecided", "fail",
    ]  # fmt: skip
    assert [outcome(at_most=limit) for limit in (low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6)] == [
        "fail", "undecided", "undecided", "pass",
    ]  # fmt: skip


def test_too_few_labels_are_undecided(alice: Caller) -> None:
    gate = ask(alice, of(labelled(alice, 3)), at_least(0.1))

    (rule,) = gate["rules"]
    assert (gate["outcome"], rule["reason"], rule["about_n_more"], gate["about_n_more"]) == (
        "undecided", "too_few_labels", None, None,
    )  # fmt: skip
    assert (rule["estimate"], rule["lower"], rule["n"]) == (None, None, 3)
    # So many are needed for an estimate: what would settle it is not known yet.
    assert rule["says"].endswith("Nothing is shown: an estimate needs at least 20 labels.")
    assert "settle" not in gate["summary"] and "settle" not in str(RuleRecord.read(rule))
    junit = alice.get(f"/v1/gates/{gate['id']}?format=junit").content.decode()
    assert 'failures="1" errors="0"' in junit and 'type="undecided"' in junit


def test_items_that_are_passed_over_decide_nothing(alice: Caller) -> None:
    send_scores(alice, judged(60))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 40), criteria, ["pass"] * 30, skip=10)

    (rule,) = ask(alice, of(criteria), at_least(0.1))["rules"]
    assert (rule["outcome"], rule["reason"], rule["about_n_more"]) == ("undecided", "non_response", None)


@pytest.mark.parametrize(("looks", "limit"), [("one", 0.64), ("watched", 0.58)])
def test_so_many_more_labels_settle_it(alice: Caller, looks: str, limit: float) -> None:
    """Labels as before, for the missing number, give an interval beyond the limit."""
    values = LABELS * 50
    criteria = labelled(alice, 40, values)
    before = ask(alice, of(criteria), at_least(limit, looks=looks))
    n_more = before["rules"][0]["about_n_more"]
    assert before["outcome"] == "undecided" and 10 < n_more < 160
    assert f"About {n_more} more labels would settle it." in before["rules"][0]["says"]

    other = new_criteria(alice, name="again")
    answer_items(alice, drawn(alice, other, 200, seed=5), other, values[: 40 + n_more])
    after = ask(alice, of(other), at_least(limit, looks=looks))["rules"][0]
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
    assert "/rules/0/looks" in refused(alice, of(criteria), at_least(0.8, looks="sometimes"))
    assert "/rules/0/looks" in refused(alice, plain, {"metric": "pass", "at_least": 0.8, "looks": "one"})
    assert "rules on `truth`" in refused(alice, of(criteria), at_least(0.8), looks="watched")["/looks"]
    assert "No review asks" in refused(alice, of(new_criteria(alice, name="unasked")), at_least(0.8))["/history/truth"]
    assert "/history/truth" in refused(alice, of({"id": "of nobody"}), at_least(0.8))
    assert bob.post("/v1/gates", of(criteria) | {"rules": [at_least(0.8)]}).status_code == 403


def test_labels_without_a_range_are_for_one_look(alice: Caller) -> None:
    send_scores(alice, judged(40))
    criteria = new_criteria(alice, "continuous")
    answer_items(alice, drawn(alice, criteria, 40), criteria, [i % 4 for i in range(40)])

    assert "send `one`" in refused(alice, of(criteria), at_least(1.0))["/rules/0/looks"]
    (rule,) = ask(alice, of(criteria), at_least(1.0, looks="one"))["rules"]
    assert (rule["outcome"], rule["method"], rule["truth"]["looks"]) == ("pass", "t", "one")


def test_each_question_is_computed_once(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rules at two levels, and about how many more labels would settle the open one."""
    criteria = labelled(alice, 40)
    levels: list[tuple[float, float | None]] = []
    compute = reviews_truth.LabelledDraw._compute

    def record(self: Any, level: float, width: float | None) -> Any:
        levels.append((level, width))
        return compute(self, level, width)

    monkeypatch.setattr(reviews_truth.LabelledDraw, "_compute", record)
    gate = ask(alice, of(criteria), at_least(0.1), at_least(0.6), {"metric": "truth", "at_most": 0.1})

    assert [rule["outcome"] for rule in gate["rules"]] == ["pass", "undecided", "fail"]
    assert len(levels) == len(set(levels)) == 3
    assert sorted(level for level, _ in levels) == pytest.approx([0.95, 0.95, 1 - 0.05 / 3])


def test_evidence_of_an_earlier_release_is_of_one_look() -> None:
    """It was, and had neither share nor span."""
    id = "00000000-0000-4000-8000-000000000000"
    stored = {"criteria_id": id, "review_id": id, "drawn_at": "2026-11-01T00:00:00Z", "population": 9, "n_since": 1}
    found = msgspec.convert(stored | {"naive": None}, RuleTruth)
    assert (found.looks, found.share_since, found.first_at, found.last_at) == ("one", None, None, None)


def test_charlie_finds_no_criteria(alice: Caller, charlie: Caller) -> None:
    criteria = labelled(alice, 30)
    send_scores(charlie, judged(10))
    assert refused(charlie, of(criteria), at_least(0.8)) == {"/history/truth": "No such annotation criteria."}
