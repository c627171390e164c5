"""The page of an eval's run has the pass rate that the API answers."""

from __future__ import annotations

from evalsvc.experiments.reporting.words import format_estimate
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.experiments.conftest import make_dataset, make_experiment
from tests.factories import ok
from tests.openai_evals.shapes import NUMBER, SAME, row


def test_the_pass_rate_of_all_criteria_is_on_the_page(reader: Visitor, alice: Caller) -> None:
    config = {"type": "custom", "item_schema": {"type": "object"}}
    made = ok(alice.post("/v1/evals", {"data_source_config": config, "testing_criteria": [SAME, NUMBER]}))
    rows = [row("a", "a", n=7, i=i) for i in range(6)] + [row("a", "b", n=7), row("a", "a", n=8), row("a", None, n=7)]
    source = {"type": "jsonl", "source": {"type": "file_content", "content": rows}}
    run = ok(alice.post(f"/v1/evals/{made['id']}/runs", {"data_source": source}))

    rate = run["evalsvc"]["pass_rate"]
    text = reader.text(f"experiments/{run['evalsvc']['experiment_id']}")
    assert (rate["value"], rate["n"]) == (0.75, 8)
    assert "Pass rate, all criteria:" in text
    assert " ".join(format_estimate(0.75, rate["lower"], rate["upper"])) in text
    assert "6 of 8 items pass all criteria; 1 left out as errors" in text


def test_other_experiments_have_none(reader: Visitor, alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), [{"name": "mine", "kind": "push"}])
    assert "all criteria" not in reader.text(f"experiments/{made['id']}")
