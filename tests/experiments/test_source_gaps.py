"""One gap for each component upstream of which something is expected, and the broken component that they name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.chains import EM, MODES, NAMES, Chain, examples, push
from tests.experiments.conftest import (
    by_name,
    finish,
    live,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.experiments.pushing import results

CONTAINS = {**EM, "name": "contains", "evaluator": "exact-match-contains"}
SOURCES = {"retriever": ["answer_builder"], "prompt_builder": ["answer_builder"]}


@pytest.fixture
def chain() -> Iterator[Chain]:
    made = Chain()
    threading.Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def run(caller: Caller, chain: Chain, *, pushed: bool, rows: Any = None, **plan: Any) -> Any:
    plan = {"metrics": [EM], "modes": MODES} | plan
    config = chain.declared if pushed else chain.nodes
    made = make_experiment(caller, make_dataset(caller, rows or examples(20)), [config], **plan)
    if pushed:
        push(caller, made, chain.code, SOURCES)
    else:
        finish(caller, made["id"])
    assert recounted(caller, made["id"]) == []
    return made


def gaps_of(caller: Caller, made: Any) -> Any:
    (config,) = ok(caller.get(f"/v1/experiments/{made['id']}/components"))["configs"]
    return config


def plan_of(caller: Caller, made: Any) -> Any:
    return ok(caller.get(f"/v1/experiments/{made['id']}"))["experiment"]["plan"]


def read_gaps(config: Any) -> dict[str, Any]:
    """The gaps by what was replaced."""
    return {",".join(gap["replaced"]): gap for gap in config["gaps"]}


@pytest.mark.parametrize("pushed", [False, True], ids=["server", "pushed"])
@pytest.mark.parametrize(
    ("broken", "gaps"),
    [
        ("retriever", {"retriever": 0.75, "prompt_builder": 0.75, "reader": 0.75}),
        ("prompt_builder", {"retriever": 0.0, "prompt_builder": 0.75, "reader": 0.75}),
        ("reader", {"retriever": 0.0, "prompt_builder": 0.0, "reader": 0.75}),
        ("answer_builder", {"retriever": 0.0, "prompt_builder": 0.0, "reader": 0.0}),
    ],
)
def test_the_broken_component_is_named(
    alice: Caller, chain: Chain, broken: str, gaps: dict[str, float], pushed: bool
) -> None:
    chain.broken = {broken}

    config = gaps_of(alice, run(alice, chain, pushed=pushed))

    assert {name: gap["gap"]["value"] for name, gap in read_gaps(config).items()} == gaps
    assert config["bottleneck"]["components"] == [broken]
    assert config["bottleneck"]["gain"] == 0.75
    assert config["bottleneck"]["lower"] > 0.0


def test_both_ways_of_running_give_equal_gaps(alice: Caller, chain: Chain) -> None:
    chain.broken = {"retriever", "reader"}
    rows = examples(12)
    del rows[3]["expected"]["retriever"], rows[5]["expected"]["prompt_builder"]

    ran, pushed = [gaps_of(alice, run(alice, chain, pushed=pushed, rows=rows)) for pushed in (False, True)]

    assert ran["gaps"] == pushed["gaps"]
    assert ran["bottleneck"] == pushed["bottleneck"]
    assert (read_gaps(ran)["retriever"]["n_na"], read_gaps(ran)["retriever"]["gap"]["n"]) == (1, 11)


def test_each_source_has_a_twin_of_the_metric(alice: Caller, chain: Chain) -> None:
    chain.broken = {"retriever"}
    made = run(alice, chain, pushed=False)

    metrics = plan_of(alice, made)["metrics"]
    assert {metric["name"]: metric["replaced"] for metric in metrics} == {
        "em": None,
        "em:isolated": None,
        "em:isolated:retriever": ["retriever"],
        "em:isolated:prompt_builder": ["prompt_builder"],
    }
    found = by_name(live(alice, made["id"]))["mine"]["by_component"]["answer_builder"]
    assert {mode: metrics["em"]["value"] for mode, metrics in found.items()} == {
        "integrated": 0.25,
        "isolated": 1.0,
        "isolated:retriever": 1.0,
        "isolated:prompt_builder": 1.0,
    }
    row = results(alice, made, "example_id=e1")[0]
    assert row["isolated"]["answer_builder:retriever"] == {"answer": "a1"}
    assert row["by_component"]["answer_builder"]["isolated:retriever"] == {"em": 1.0}


@pytest.mark.parametrize("pushed", [False, True], ids=["server", "pushed"])
def test_with_one_labelled_component_upstream_there_is_one_gap(alice: Caller, chain: Chain, pushed: bool) -> None:
    chain.broken = {"retriever"}
    made = run(alice, chain, pushed=pushed, rows=examples(12, ("retriever", "answer_builder")))

    config = gaps_of(alice, made)
    assert [metric["name"] for metric in plan_of(alice, made)["metrics"]] == [
        "em",
        "em:isolated",
    ]
    assert read_gaps(config)["retriever"]["gap"]["value"] == 0.75
    assert config["bottleneck"]["components"] == ["retriever"]


def test_components_between_that_nothing_tells_apart_are_named_together(alice: Caller, chain: Chain) -> None:
    chain.broken = {"reader"}

    config = gaps_of(alice, run(alice, chain, pushed=False, rows=examples(12, ("retriever", "answer_builder"))))

    assert config["bottleneck"]["components"] == ["prompt_builder", "reader", "answer_builder"]


def test_a_component_that_gets_what_it_got_before_is_not_asked_again(alice: Caller, chain: Chain) -> None:
    chain.broken = {"prompt_builder"}
    for name in NAMES:
        chain.asked[name] = 0

    # Its retriever is right, so that nothing has to run behind its expected output.
    push_made = run(alice, chain, pushed=True, rows=examples(4))

    # Each component once as it is fed, and once on what is expected of the one before it.
    assert chain.asked == {"retriever": 4, "prompt_builder": 8, "reader": 8, "answer_builder": 8}
    assert gaps_of(alice, push_made)["gaps"] != []


def test_the_preview_says_how_many_runs_that_takes(alice: Caller, chain: Chain) -> None:
    chain.broken = set(NAMES)
    plan = {"dataset_id": make_dataset(alice, examples(6)), "metrics": [EM], "modes": MODES}
    previews = [
        ok(alice.post("/v1/experiments/preview", {"name": "x", "plan": plan, "configs": [config]}))
        for config in (chain.nodes, chain.declared)
    ]

    # On expected inputs 3 components; behind the retriever 3 again, and behind the prompt builder 2.
    assert [preview["n_isolated"] for preview in previews] == [6 * 8, 6 * 8]
    assert [preview["n_queries"] for preview in previews] == [6 * 12, 6]
    run(alice, chain, pushed=False, rows=examples(6))
    assert sum(chain.asked.values()) <= 6 * 12


def test_configs_of_a_draft_bring_their_sources(alice: Caller, chain: Chain) -> None:
    chain.broken = {"prompt_builder"}
    plan = {"dataset_id": make_dataset(alice, examples(12)), "metrics": [EM], "modes": MODES}
    made = ok(alice.post("/v1/experiments", {"name": "x", "plan": plan}))["experiment"]
    ok(alice.post(f"/v1/experiments/{made['id']}/configs", {"configs": [chain.nodes]}))
    ok(alice.post(f"/v1/experiments/{made['id']}/start", {}))
    finish(alice, made["id"])

    assert read_gaps(gaps_of(alice, made)).keys() == {"retriever", "prompt_builder", "reader"}
    assert gaps_of(alice, made)["bottleneck"]["components"] == ["prompt_builder"]
    assert recounted(alice, made["id"]) == []


def test_a_metric_added_afterwards_has_the_same_gaps(alice: Caller, chain: Chain) -> None:
    chain.broken = {"prompt_builder"}
    made = run(alice, chain, pushed=False, rows=examples(12))
    asked = chain.asked.total()

    ok(alice.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": [CONTAINS]}))
    run_units()

    gaps = [gap for gap in gaps_of(alice, made)["gaps"] if gap["metric"] == "contains"]
    assert {gap["replaced"][0]: gap["gap"]["value"] for gap in gaps} == {
        "retriever": 0.0,
        "prompt_builder": 0.75,
        "reader": 0.75,
    }
    assert chain.asked.total() == asked
    assert recounted(alice, made["id"]) == []
