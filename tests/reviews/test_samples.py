"""Which items are drawn, with what probability, and what their answers say of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.experiments.shapes import lease, new_push_experiment, posted
from tests.rest.shapes import assert_problem
from tests.reviews.shapes import (
    REVIEWS,
    answered_experiment,
    items,
    new_review,
    outputs_of,
    pairs_of,
    report,
    review_of_outputs,
    say_pass,
    send_answer,
    take,
)

HALF_RIGHT = {"method": "uncertain", "n": 10, "metric": "closeness"}


def scored_experiment(caller: Caller, n: int) -> Any:
    """Output i of each config has the closeness i/n, so that those in the middle are uncertain."""
    made = new_push_experiment(caller, n, metrics=[{"name": "closeness", "source": "client", "value_range": [0, 1]}])
    for config in made["configs"]:
        while (unit := lease(caller, made["id"], config["id"])) is not None:
            rows = [{"pos": e["pos"], "output": "x", "scores": {"closeness": e["pos"] / n}} for e in unit["examples"]]
            body = {"token": unit["token"], "outputs": rows}
            posted(caller, f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs", body)
    return made


def test_random_draws_as_many_as_asked_for(alice: Caller) -> None:
    review, _ = review_of_outputs(alice, 20, sample={"method": "random", "n": 5})

    assert (review["n_items"], review["sample"]["n_frame"]) == (5, 20)
    assert {one["probability"] for one in items(alice, review)} == {0.25}


def test_uncertain_favours_what_is_near_the_threshold(alice: Caller) -> None:
    made = scored_experiment(alice, 40)
    review = new_review(alice, outputs_of(made, "good"), new_criteria(alice), sample=HALF_RIGHT)
    facts = review["sample"]
    drawn = items(alice, review)

    assert (facts["method"], facts["n"], facts["n_frame"], facts["threshold"]) == ("uncertain", 10, 40, 0.5)
    assert 0 < facts["floor"] <= 0.02 and facts["c"] > 0
    assert len({one["probability"] for one in drawn}) > 1
    assert max(one["probability"] for one in drawn) <= min(1, facts["c"]) + 1e-9


def test_disagreeing_favours_what_evaluators_differ_about(alice: Caller) -> None:
    for i in range(12):
        for k, label in enumerate(("a", "b" if i < 3 else "a")):
            alice.evaluate("exact-match", input=str(k), output="a", label=label, log_id=f"log-{i}", app="shop")
    wanted = {"evaluations": {"filters": [{"field": "app", "operation": "eq", "value": "shop"}]}}
    review = new_review(alice, wanted, new_criteria(alice), sample={"method": "disagreeing", "n": 3}, seed=4)

    assert max(one["probability"] for one in items(alice, review)) == pytest.approx(0.94, abs=0.01)


@pytest.mark.parametrize(
    ("sample", "pointer"),
    [
        ({"method": "uncertain", "n": 3}, "/sample/metric"),
        ({"method": "uncertain", "n": 3, "metric": "nope"}, "/sample/metric"),
        ({"method": "disagreeing", "n": 3}, "/sample/method"),
        ({"method": "eager", "n": 3}, "/sample/method"),
    ],
)
def test_it_says_what_a_draw_needs(alice: Caller, sample: Any, pointer: str) -> None:
    made = answered_experiment(alice)
    body = {"name": "x", "items": outputs_of(made), "criteria": [new_criteria(alice)["id"]], "sample": sample}

    assert_problem(alice.post(REVIEWS, body), "validation_failed", pointer)


# --- Estimates -------------------------------------------------------------------------------------------------------


def test_a_share_has_an_interval_for_new_data(alice: Caller) -> None:
    """Eight of ten: Clopper-Pearson says .444 to .975."""
    review, criteria = review_of_outputs(alice, 10)
    say_pass(alice, review, criteria, *[True] * 8, *[False] * 2)
    passed = report(alice, review)["estimates"][0]

    assert (passed["answer"], passed["estimate"], passed["method"]) == ("pass", 0.8, "clopper-pearson")
    assert passed["new_data"]["lower"] == pytest.approx(0.4439, abs=1e-3)
    assert passed["new_data"]["upper"] == pytest.approx(0.9748, abs=1e-3)
    assert passed["this_set"] == {"lower": 0.8, "upper": 0.8}


def test_above_a_tenth_of_silence_nothing_is_concluded(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 10)
    say_pass(alice, review, criteria, *[True] * 8)
    found = report(alice, review)

    assert found["non_response"] == pytest.approx(0.2)
    assert {(one["estimate"], one["new_data"], one["reason"]) for one in found["estimates"]} == {
        (None, None, "non_response")
    }


def test_several_answers_to_an_item_count_once(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 3, n_answers=2)
    say_pass(alice, review, criteria, True, True, False, reviewer="ann")
    say_pass(alice, review, criteria, True, False, False, reviewer="ben")
    passed = report(alice, review)["estimates"][0]

    assert (passed["estimate"], passed["n"], passed["method"]) == (0.5, 3, "guarded-t")


def test_a_draw_that_favours_is_weighted(alice: Caller) -> None:
    made = scored_experiment(alice, 80)
    sample = HALF_RIGHT | {"n": 40}
    review = new_review(alice, outputs_of(made, "good"), new_criteria(alice), sample=sample)
    criteria = review["criteria"][0]
    drawn = items(alice, review, limit="100")
    say_pass(alice, review, criteria, *[i % 2 == 0 for i in range(len(drawn))])
    passed = report(alice, review)["estimates"][0]

    weights = [1 / one["probability"] for one in drawn]
    assert passed["estimate"] == pytest.approx(sum(weights[::2]) / sum(weights))
    assert (passed["method"], passed["reason"]) == ("korn-graubard", None)
    assert passed["this_set"]["lower"] > passed["new_data"]["lower"]
    assert (passed["rows"]["n"], passed["rows"]["n_missing"], passed["rows"]["weighted"]) == (len(drawn), 0, True)


def test_numbers_have_a_mean(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 4, "continuous")
    for value in (1, 2, 3, 4):
        send_answer(alice, review, take(alice, review), (criteria, {"value_score": value}))
    (mean,) = report(alice, review)["estimates"]

    assert (mean["answer"], mean["estimate"]) == (None, 2.5)


# --- Agreement -------------------------------------------------------------------------------------------------------


def test_two_people_have_every_figure(alice: Caller) -> None:
    """Of twelve items eight twice pass, two twice fail, two apart: p_o 10/12, p_e (10·9 + 2·3)/144."""
    review, criteria = review_of_outputs(alice, 12, n_answers=2)
    say_pass(alice, review, criteria, *[True] * 9, *[False] * 3, reviewer="ann")
    say_pass(alice, review, criteria, *[True] * 8, False, *[False] * 2, True, reviewer="ben")
    (found,) = report(alice, review)["agreement"]

    assert found["agreeing_share"] == pytest.approx(10 / 12)
    assert found["cohen_kappa"]["value"] == pytest.approx((10 / 12 - 90 / 144) / (1 - 90 / 144))
    assert found["krippendorff_alpha"]["lower"] < found["krippendorff_alpha"]["value"]
    differ = [one["item_id"] for one in found["disagreements"]]
    assert differ == [one["id"] for one in items(alice, review) if len({str(a["answers"]) for a in one["answers"]}) > 1]


def test_all_the_same_is_undefined(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 3, n_answers=2)
    for reviewer in ("ann", "ben"):
        say_pass(alice, review, criteria, True, True, True, reviewer=reviewer)
    (found,) = report(alice, review)["agreement"]

    assert found["agreeing_share"] == 1.0
    assert {found[name]["value"] for name in ("cohen_kappa", "fleiss_kappa", "krippendorff_alpha")} == {None}


def test_pairs_have_agreement_too(alice: Caller) -> None:
    review = new_review(alice, pairs_of(answered_experiment(alice)), n_answers=2)
    for reviewer in ("ann", "ben"):
        for choice in ("tie", "first", "second", "tie"):
            send_answer(alice, review, take(alice, review, reviewer), choice=choice)
    (found,) = report(alice, review)["agreement"]

    assert (found["name"], found["krippendorff_alpha"]["value"]) == ("choice", 1.0)
