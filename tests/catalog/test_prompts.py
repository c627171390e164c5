"""What evaluators ask their judges can be read, by whoever may run them."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.conftest import Caller
from tests.factories import make_own_evaluator, make_profile, new_caller, ok


def prompt(caller: Caller, evaluator: str, criteria: str | None = None, status: int = 200) -> Any:
    query = "" if criteria is None else f"?{urlencode({'criteria': criteria})}"
    return ok(caller.get(f"/v1/evaluators/{evaluator}/prompt{query}"), status)


def test_it_shows_the_words_and_the_form_of_the_answer(alice: Caller) -> None:
    shown = prompt(alice, "hallucination-judge")

    assert (shown["evaluator_id"], shown["criteria"]) == (
        "retrieval-hallucination-judge-2026-11-30",
        "patronus:detect-rag-hallucination",
    )
    (asked,) = shown["prompts"]
    assert asked["prompt_id"] == "hallucination/3"
    assert "at least one entry for every one of the SENTENCES" in asked["system"]
    assert 'BEGIN MODEL OUTPUT {{boundary}}\n"(The model output.)"' in asked["user"]
    assert asked["response_schema"]["required"] == ["reasoning", "claims"]


def test_it_shows_a_profile_s_own_criteria(alice: Caller) -> None:
    words = f"The MODEL OUTPUT names {uuid.uuid4().hex}."
    name = make_profile(alice, "judge", pass_criteria=words)["name"]

    shown = prompt(alice, "judge", name)

    assert all(words in asked["system"] for asked in shown["prompts"])
    assert (shown["criteria"], shown["profile_revision"]) == (name, 1)


def test_there_is_one_for_each_way_to_ask(alice: Caller) -> None:
    asked = prompt(alice, "context-sufficiency-judge")["prompts"]

    assert len({one["digest"] for one in asked}) == len(asked) == 3
    assert len(prompt(alice, "rag-overall")["prompts"]) >= 5


@pytest.mark.parametrize("evaluator", ["exact-match", "pii", "toxicity-moderation"])
def test_what_asks_no_judge_has_no_prompt(alice: Caller, evaluator: str) -> None:
    assert prompt(alice, evaluator)["prompts"] == []


def test_a_grader_of_a_model_is_shown_with_its_template(alice: Caller) -> None:
    grader: dict[str, Any] = {
        "type": "score_model",
        "model": "m",
        "input": [{"role": "user", "content": "Rate: {{sample.output_text}}"}],
    }
    name = make_profile(alice, "custom", **grader)["name"]

    (asked,) = prompt(alice, "custom", name)["prompts"]
    assert "Rate: (The model output.)" in asked["user"]


def test_a_stranger_finds_neither_evaluator_nor_profile(alice: Caller, charlie: Caller) -> None:
    profile = make_profile(alice, "judge", pass_criteria="A secret criterion.")["name"]
    own = make_own_evaluator(alice, "judge-2026-11-23", default_profile=profile)

    assert "A secret criterion." in prompt(alice, own)["prompts"][0]["system"]
    for evaluator, criteria in ((own, None), ("judge", profile), ("judge", "nobody's"), ("nothing", None)):
        assert prompt(charlie, evaluator, criteria, status=404)["code"] == "not_found"


def test_a_judge_without_a_profile_says_which_to_name(alice: Caller) -> None:
    refusal = prompt(alice, "judge", status=422)

    assert [error["pointer"] for error in refusal["errors"]] == ["/criteria"]


def test_whoever_may_only_read_may_read_it(alice: Caller) -> None:
    assert prompt(new_caller(alice.account, scope="read"), "pii-judge")["prompts"]
