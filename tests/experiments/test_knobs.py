"""Searches over knobs anywhere in the parameters of a config, and clones that turn one of them."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from benchmarks.stub_tasks import accuracy_of, seeded_task
from evalsvc.experiments.definition.fields.pointers import MISSING, resolve_pointer
from evalsvc.experiments.definition.knobs import DEEPEST, MAX_KNOBS, read_knobs, set_values, shorten_names
from evalsvc.experiments.inference.aggregates.axes import Axes, group_configs
from evalsvc.experiments.models import Config
from tests.conftest import Caller
from tests.experiments.conftest import by_name, live, make_dataset, make_experiment, ok, run_units

MODELS = ["stub-accuracy-0.60-a", "stub-accuracy-0.80-c"]


def app(stub: RunningStub) -> dict[str, Any]:
    """An application that is asked over HTTP: the stub's own endpoint, by its native body."""
    body = {"model": "?", "messages": [{"role": "system", "content": "?"}, {"role": "user", "content": "{{input}}"}]}
    output = {"output": "/choices/0/message/content"}
    return {"url": f"{stub.base_url}/chat/completions", "body": body, "output": output}


SEARCH = {
    "body": {"model": MODELS, "options": {"top_k": [1, 2]}},
    "/body/messages/0/content": ["Be short.", "Be wise."],
}


def refused(caller: Caller, config: dict[str, Any]) -> tuple[str, str]:
    plan = {"dataset_id": make_dataset(caller, n=2), "metrics": [{"name": "m", "source": "latency_ms"}]}
    answer = caller.post("/v1/experiments", {"name": "x", "plan": plan, "configs": [config]})
    assert answer.status_code == 422, answer.content
    error = answer.json()["errors"][0]
    return error["pointer"], error["detail"]


def test_a_grid_reaches_into_the_body_that_an_application_gets(alice: Caller, stub: RunningStub) -> None:
    search = {"body": {"model": MODELS}}
    config = {"kind": "http", "parameters": app(stub), "search": search}
    experiment = make_experiment(alice, make_dataset(alice), [config])
    run_units()

    found = by_name(live(alice, experiment["id"]))
    assert set(found) == {f"model={model}" for model in MODELS}
    for model in MODELS:
        accuracy = found[f"model={model}"]["metrics"]["accuracy"]
        assert (accuracy["n"], accuracy["value"]) == (40, accuracy_of(model, seeded_task(40, 1)))


def test_names_and_counts_say_every_combination(alice: Caller, stub: RunningStub) -> None:
    config = {"kind": "http", "parameters": app(stub), "search": SEARCH}
    plan = {"dataset_id": make_dataset(alice, n=5), "metrics": [{"name": "m", "source": "latency_ms"}]}
    found = ok(alice.post("/v1/experiments/preview", {"name": "x", "plan": plan, "configs": [config]}))

    assert (found["n_configs"], found["n_queries"]) == (8, 40)
    names = [one["name"] for one in found["configs"]]
    assert names[0] == "model=stub-accuracy-0.60-a top_k=1 content=Be short."
    assert len(set(names)) == 8
    body = found["configs"][-1]["parameters"]["body"]
    assert body == {
        "model": MODELS[1],
        "messages": [{"role": "system", "content": "Be wise."}, {"role": "user", "content": "{{input}}"}],
        "options": {"top_k": 2},
    }


def test_a_random_search_draws_from_them_without_repeats(alice: Caller, stub: RunningStub) -> None:
    config = {"kind": "http", "parameters": app(stub), "search": SEARCH, "method": "random", "n": 5, "seed": 3}
    dataset = make_dataset(alice, n=2)
    twice = [make_experiment(alice, dataset, [config], start=False)["configs"] for _ in range(2)]

    assert [one["parameters"] for one in twice[0]] == [one["parameters"] for one in twice[1]]
    assert len({str(one["parameters"]) for one in twice[0]}) == 5


def test_endless_digits_are_no_place_in_a_list() -> None:
    """Python refuses to read more than 4300 of them."""
    path = f"/list/{'9' * 5000}"

    assert resolve_pointer({"list": [1, 2]}, path) is MISSING and resolve_pointer({"list": [1, 2]}, "/list/1") == 2
    axes = Axes(knobs=(("k", ("list", "9" * 5000)),))
    (group,) = group_configs([Config(parameters={"list": [1, 2]})], axes)
    assert group.values == {"k": None}


def test_what_is_given_is_left_as_it_is() -> None:
    given = {"body": {"a": {"b": [1, 2]}}}

    assert set_values(given, [("body", "a", "b", "1"), ("body", "c", "d")], [7, 8]) == {
        "body": {"a": {"b": [1, 7]}, "c": {"d": 8}}
    }
    assert given == {"body": {"a": {"b": [1, 2]}}}


@pytest.mark.parametrize(("search", "names"), [
    ({"a": {"x": [1]}, "b": {"x": [1], "y": [1]}}, ["a.x", "b.x", "y"]),
    ({"/m/0/role": [1], "/m/1/role": [1], "/n/0": [1]}, ["m.0.role", "m.1.role", "n.0"]),
    ({"/a~1b/c~0d": [1]}, ["c~d"]),
    ({"plain": [1]}, ["plain"]),
])  # fmt: skip
def test_a_knob_is_named_by_what_tells_it_from_the_others(search: dict[str, Any], names: list[str]) -> None:
    assert shorten_names(read_knobs(search)) == names


@pytest.mark.parametrize(("search", "why"), [
    ({"a": {}}, "`a` must be a list"),
    ({"a": {"b": []}}, "`a.b` must be a list"),
    ({"a": {"b": 3}}, "`a.b` must be a list"),
    ({"a": [1], "/a/b": [2]}, "`a.b` lies in `a`"),
    ({"a": {"b": [1]}, "/a/b": [2]}, "`a.b` lies in `a.b`"),
    ({"/k/x": [1]}, "neither object nor list"),
    ({"/l/2": [1]}, "the list there has 2 items"),
    ({"/l/-1": [1]}, "the list there has 2 items"),
    ({"/" + "/".join("a" * (DEEPEST + 1)): [1]}, "deeper than"),
    ({f"k{i}": [1] for i in range(MAX_KNOBS + 1)}, "More than 100 knobs"),
])  # fmt: skip
def test_it_says_what_is_wrong_with_a_search(alice: Caller, search: dict[str, Any], why: str) -> None:
    pointer, detail = refused(alice, {"kind": "push", "parameters": {"k": 1, "l": [1, 2]}, "search": search})

    assert pointer == "/configs/0/search"
    assert why in detail


def test_many_knobs_of_one_large_list_are_refused_before_they_are_made(alice: Caller) -> None:
    search = {f"/l/{i}": [0, 1] for i in range(20)}
    config = {"kind": "push", "parameters": {"l": [0] * 400_000}, "search": search}

    assert refused(alice, config)[0] == "/configs"


def test_a_clone_turns_a_knob_inside(alice: Caller, stub: RunningStub) -> None:
    config = {"name": "app", "kind": "http", "parameters": app(stub)}
    made = make_experiment(alice, make_dataset(alice, n=2), [config], start=False)
    path = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"
    clone = ok(alice.post(path, {"changes": {"/body/model": "stub-echo"}}))["config"]

    assert clone["parameters"]["body"] == app(stub)["body"] | {"model": "stub-echo"}
    answer = alice.post(path, {"changes": {"/url/model": "stub-echo"}})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/changes")


def test_a_stranger_cannot_clone_it(alice: Caller, charlie: Caller, stub: RunningStub) -> None:
    config = {"name": "app", "kind": "http", "parameters": app(stub)}
    made = make_experiment(alice, make_dataset(alice, n=2), [config], start=False)
    path = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"

    assert charlie.post(path, {"changes": {"/body/model": "stub-echo"}}).status_code == 404
