"""What an account has no means to run is not enabled, and is left out of what programs choose from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import make_connection, ok

LLM = "https://llm.example.com/v1"


def enabled(caller: Caller, by: str) -> bool:
    (row,) = ok(caller.get(f"/v1/evaluators?by_alias_or_id={by}"))["evaluators"]
    assert row["evaluation_enabled"] == row["evaluation_run_enabled"]
    one = ok(caller.get(f"/v1/evaluators/{row['id']}"))["evaluator"]
    assert one["evaluation_enabled"] == row["evaluation_enabled"]
    found: bool = row["evaluation_enabled"]
    return found


def names(caller: Caller, query: str = "") -> set[str]:
    rows = ok(caller.get(f"/v1/evaluator-criteria{query}"))["evaluator_criteria"]
    return {row["name"] for row in rows}


def switch(caller: Caller, **fields: Any) -> None:
    (row,) = ok(caller.get("/v1/connections"))["connections"]
    ok(caller.patch(f"/v1/connections/{row['id']}", fields))


def test_an_evaluator_is_enabled_while_somebody_can_be_asked(alice: Caller, charlie: Caller) -> None:
    assert not enabled(alice, "hallucination-judge")
    make_connection(charlie, LLM)
    assert not enabled(alice, "hallucination-judge")
    make_connection(alice, LLM)
    assert enabled(alice, "hallucination-judge")
    switch(alice, is_enabled=False)
    assert not enabled(alice, "hallucination-judge")


def test_a_webhook_is_enabled_with_a_secret(alice: Caller) -> None:
    make_connection(alice, LLM)
    assert not enabled(alice, "webhook")
    ok(alice.post("/v1/webhook-secret/rotate"), 201)
    assert enabled(alice, "webhook")


@pytest.mark.parametrize("name", ["exact-match", "pii", "toxicity", "metrics", "hallucination"])
def test_what_asks_nobody_is_always_enabled(alice: Caller, name: str) -> None:
    assert enabled(alice, name)


def test_the_judge_is_enabled_for_what_it_checks_itself(alice: Caller) -> None:
    assert enabled(alice, "judge")
    assert ok(alice.post("/v1/evaluate", {
        "evaluators": [{"evaluator": "judge", "criteria": "patronus:is-json"}], "output": "{}",
    }))["results"][0]["status"] == "success"  # fmt: skip


def test_criteria_that_cannot_be_run_are_no_choice(alice: Caller) -> None:
    own = {"evaluator_family": "judge", "name": "mine", "config": {"pass_criteria": "The MODEL OUTPUT is polite."}}
    ok(alice.post("/v1/evaluator-criteria", own))
    left = names(alice)

    assert {"patronus:is-json", "mine", "patronus:compute-bleu"} <= left
    assert "patronus:is-polite" not in left
    # Who has chosen gets it.
    assert names(alice, "?name=is-polite") == {"patronus:is-polite"}
    for query in ("is_patronus_managed=true", "evaluator_family=judge", "evaluator_id=judge"):
        assert "patronus:is-polite" in names(alice, f"?{query}")

    make_connection(alice, LLM)
    assert names(alice) >= left | {"patronus:is-polite"}
