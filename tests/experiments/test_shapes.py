"""What comes back has the names of what was sent."""

from __future__ import annotations

from tests.conftest import Caller
from tests.experiments.conftest import make_dataset, make_experiment


def test_a_metric_comes_back_in_the_words_that_asked_for_it(alice: Caller) -> None:
    wanted = {"name": "length", "source": "output_tokens", "type": "distributive", "value_range": [0, 100]}
    by_evaluator = {"name": "match", "evaluator": "exact-match"}
    configs = [{"name": "mine", "kind": "push"}]
    made = make_experiment(alice, make_dataset(alice, n=2), configs, metrics=[wanted, by_evaluator])

    first, second = made["plan"]["metrics"]
    assert {name: first[name] for name in wanted} == wanted
    assert (second["evaluator"], second["criteria"], second["criteria_revision"], second["type"]) == (
        "exact-match-2026-11-28",
        "patronus:exact-match",
        1,
        "algebraic",
    )
    assert "settings" not in second
