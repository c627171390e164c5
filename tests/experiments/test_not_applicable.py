"""A metric that needs what the dataset does not have: counted apart from what failed, and the counts add up."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller, scores_of
from tests.experiments.conftest import EXACT, by_name, live, make_dataset, make_experiment, ok, recounted
from tests.experiments.pushing import PUSH, Runner

GROUNDED = {"name": "grounded", "evaluator": "hallucination"}
CLEAN = {"name": "clean", "evaluator": "pii"}
EXAMPLES = [{"id": f"e{i}", "input": f"q{i}", **({"expected": f"a{i}"} if i % 3 else {})} for i in range(9)]


def counts(metric: Any) -> dict[str, int]:
    return {name: metric[name] for name in ("n", "n_error", "n_na", "n_pending", "N")}


def test_it_is_no_failure(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[EXACT, GROUNDED, CLEAN])
    runner = Runner(alice, made)
    first = runner.lease(n=4)["unit"]
    posted = runner.post(first, [{"pos": e["pos"], "output": e.get("expected") or "?"} for e in first["examples"]])
    assert {name: posted["live"]["grounded"][name] for name in ("n", "n_na", "n_pending", "N")} == {
        "n": 0, "n_na": 4, "n_pending": 5, "N": 9
    }  # fmt: skip
    runner.run(lambda e: e.get("expected") or "?")
    found = by_name(live(alice, made["id"]))["mine"]["metrics"]
    assert counts(found["accuracy"]) == {"n": 6, "n_error": 0, "n_na": 3, "n_pending": 0, "N": 9}
    assert (found["accuracy"]["value"], found["accuracy"]["bounds_if_failures"]) == (1.0, {"lower": 1.0, "upper": 1.0})
    assert counts(found["grounded"]) == {"n": 0, "n_error": 0, "n_na": 9, "n_pending": 0, "N": 9}
    assert counts(found["clean"]) == {"n": 9, "n_error": 0, "n_na": 0, "n_pending": 0, "N": 9}
    assert recounted(alice, made["id"]) == []
    assert len(scores_of(alice, "exact-match")) == 6


def test_the_row_says_what_the_dataset_lacks(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES[:1]), [PUSH])
    Runner(alice, made).run(lambda e: "x")
    (row,) = ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"]
    score = row["scores"]["accuracy"]
    assert (score["value"], score["error_code"]) == (None, "not_applicable")
    assert "evaluated_model_gold_answer" in score["error_message"]


def test_a_lost_output_is_an_error_where_the_metric_applies(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES[:3]), [PUSH], metrics=[EXACT])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    runner.post(unit, [{"pos": e["pos"], "error": {"type": "bug"}} for e in unit["examples"]])
    found = by_name(live(alice, made["id"]))["mine"]["metrics"]["accuracy"]
    assert counts(found) == {"n": 0, "n_error": 2, "n_na": 1, "n_pending": 0, "N": 3}
