"""`GET /v1/evaluators/{id}`: an evaluator and its card, for whoever may run it."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.registry import all_evaluators
from tests.conftest import Caller
from tests.factories import make_own_evaluator, make_profile, new_caller, ok


def shown(caller: Caller, evaluator: str, status: int = 200) -> Any:
    return ok(caller.get(f"/v1/evaluators/{evaluator}"), status)


def test_it_shows_what_the_list_shows_and_the_card(alice: Caller) -> None:
    listed = ok(alice.get("/v1/evaluators?by_alias_or_id=phi"))["evaluators"][0]

    evaluator = shown(alice, "phi")["evaluator"]

    card = evaluator.pop("card")
    assert evaluator == listed
    assert card["reads"] == [{"field": "evaluated_model_output", "required": True}]
    assert card["default_threshold"] == 0.5
    assert {row["set"] for row in card["accuracy"]} >= {"somebody's health (constructed)"}
    assert card["accuracy"][0]["figures"]["auc"]["lower"] <= card["accuracy"][0]["figures"]["auc"]["value"]


def test_the_list_has_no_cards(alice: Caller) -> None:
    assert all("card" not in row for row in ok(alice.get("/v1/evaluators"))["evaluators"])


@pytest.mark.parametrize("id", [spec.id for _, spec in all_evaluators()])
def test_each_evaluator_and_each_of_its_aliases_is_found(alice: Caller, id: str) -> None:
    evaluator = shown(alice, id)["evaluator"]

    assert evaluator["id"] == id
    assert evaluator["card"]["measures"]
    assert all(shown(alice, alias)["evaluator"]["id"] == id for alias in evaluator["aliases"][:2])


def test_the_digests_are_those_of_the_prompts(alice: Caller) -> None:
    prompts = shown(alice, "hallucination-judge")["evaluator"]["card"]["prompts"]

    asked = ok(alice.get("/v1/evaluators/hallucination-judge/prompt"))["prompts"]
    assert [(one["prompt_id"], one["digest"]) for one in prompts] == [
        (one["prompt_id"], one["digest"]) for one in asked
    ]


def test_a_judge_without_a_profile_shows_what_each_managed_one_asks(alice: Caller) -> None:
    prompts = shown(alice, "judge")["evaluator"]["card"]["prompts"]

    assert {"is-polite", "prompt-injection"} <= {one["profile"] for one in prompts}


def test_an_own_evaluator_has_the_card_of_what_does_its_work(alice: Caller) -> None:
    own = make_own_evaluator(alice, "pii-2026-11-28")

    evaluator = shown(alice, own)["evaluator"]

    assert evaluator["id"] == own
    assert evaluator["card"] == shown(alice, "pii-2026-11-28")["evaluator"]["card"]


def test_a_stranger_finds_none_of_it(alice: Caller, charlie: Caller) -> None:
    profile = make_profile(alice, "judge", pass_criteria="A secret criterion.")["name"]
    own = make_own_evaluator(alice, "judge-2026-11-23", default_profile=profile)

    assert "A secret criterion." not in str(shown(alice, own))
    for evaluator in (own, "nothing"):
        assert shown(charlie, evaluator, status=404)["code"] == "not_found"


def test_whoever_may_only_read_may_read_it(alice: Caller) -> None:
    assert shown(new_caller(alice.account, scope="read"), "pii")["evaluator"]["card"]
