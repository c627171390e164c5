"""`Pipeline`: components of the caller's own, refused before anything runs, simulated, scored one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from evalsvc.client import Client, InvalidError, Pipeline
from tests.client.capitals import CAPITALS, run

LINKS = ["retriever.documents -> reader.documents"]
QUERIES = [{"query": country} for country in CAPITALS]
EXPECTED: list[dict[str, Any]] = [
    {"retriever": {"documents": [f"{city} is the capital."]}, "reader": {"answer": city}} for city in CAPITALS.values()
]


class Parts:
    """A retriever that always finds Rome, and a reader that reads rightly what it is given; both count their calls."""

    def __init__(self) -> None:
        self.calls = Counter[str]()

    def retriever(self, query: str) -> dict[str, Any]:
        self.calls["retriever"] += 1
        return {"documents": ["Rome is the capital."]}

    async def reader(self, documents: list[str], style: str = "plain") -> dict[str, Any]:
        self.calls["reader"] += 1
        return {"answer": documents[0].split()[0]}

    def pipeline(self) -> Pipeline:
        return Pipeline({"retriever": self.retriever, "reader": self.reader}, LINKS)


def two(a: int, b: int = 0) -> dict[str, int]:
    return {"x": a, "y": b}


def one(query: str) -> str:
    return query


@pytest.mark.parametrize(
    ("components", "connections", "said"),
    [
        ({"a": two}, ["a.x > a.b"], "written `component.field"),
        ({"a": two, "b": two}, ["a.x -> c.a"], "no component 'c'; there are 'a', 'b'"),
        ({"a": two, "b": two}, ["a.x -> b.z"], "'b' takes no `z`; it takes 'a', 'b'"),
        ({"a": two, "b": two}, ["a.x -> b.a", "a.y -> b.a"], "`b.a` is fed already"),
        ({"a": two, "b": two}, ["a.x -> b.a", "b.x -> a.a"], "a -> b -> a"),
        ({"a": two, "b": two}, [], "Nobody reads 'a', 'b'"),
        ({"output": two}, [], "the final output"),
        ({"a": len}, [], "without names"),
        ({}, [], "needs a component"),
    ],
)
def test_what_could_never_run_is_refused(components: Any, connections: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=r"(?s).*") as caught:
        Pipeline(components, connections)
    assert said in str(caught.value)


def test_a_component_that_leads_nowhere_is_refused() -> None:
    components = {"a": two, "b": two, "c": two}
    with pytest.raises(ValueError, match="Nobody reads 'c', and the output is of 'b'"):
        Pipeline(components, ["a.x -> b.a", "a.y -> c.a"], output="b")
    assert Pipeline(components, ["a.x -> b.a", "a.y -> c.a"], output=["b", "c"]).output == ["b", "c"]


def test_an_input_goes_to_the_one_component_that_takes_it() -> None:
    pipeline = Parts().pipeline()
    assert pipeline.expand({"query": "Italy"}) == {"retriever": {"query": "Italy"}}
    assert pipeline.expand("Italy") == {"retriever": {"query": "Italy"}}
    assert pipeline.expand({"query": "Italy", "style": "short"})["reader"] == {"style": "short"}
    assert pipeline.run("Italy") == {
        "output": {"answer": "Rome"},
        "retriever": {"documents": ["Rome is the capital."]},
        "reader": {"answer": "Rome"},
    }


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"question": "x"}, "No component takes the input `question`"),
        ({"query": "x", "documents": []}, "No component takes the input `documents`"),
        ({"reader": {"documents": []}, "query": "x"}, "`reader.documents`, which is fed by another component"),
        ({"reader": {"style": "short"}}, "'retriever' needs 'query'"),
    ],
)
def test_an_input_that_does_not_fit_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r"(?s).*") as caught:
        Parts().pipeline().expand(value)
    assert said in str(caught.value)


def test_an_ambiguous_input_is_refused_before_anything_runs(client: Client) -> None:
    calls: list[str] = []

    def first(query: str) -> dict[str, str]:
        calls.append(query)
        return {"found": query}

    def second(query: str, found: str) -> str:
        calls.append(query)
        return found

    pipeline = Pipeline({"first": first, "second": second}, ["first.found -> second.found"])
    with pytest.raises(ValueError, match="`query` could go to 'first', 'second'"):
        run(client, pipeline, QUERIES)
    assert calls == []
    assert client.datasets.list().first() is None


def test_a_pipeline_is_scored_component_by_component(client: Client) -> None:
    parts = Parts()
    metrics = [
        "exact-match",
        {"name": "em", "evaluator": "exact-match", "component": "reader"},
        {"name": "recall", "component": "retriever"},
    ]
    result = run(client, parts.pipeline(), QUERIES, EXPECTED, evaluators=metrics)

    assert {name: metric.value for name, metric in result.metrics.items()} == {
        "exact-match": 0.25,
        "em": 0.25,
        "recall": 0.25,
    }
    assert result.rows[1].output["retriever"] == {"documents": ["Rome is the capital."]}
    assert result.rows[1].input == {"retriever": {"query": "France"}}
    assert result.parameters["components"] == ["retriever", "reader"]
    assert result.parameters["connections"] == LINKS
    assert parts.calls == {"retriever": 4, "reader": 4}


def test_a_component_alone_needs_no_pipeline(client: Client) -> None:
    alone = Pipeline({"reader": Parts().reader})
    inputs = [{"documents": one["retriever"]["documents"]} for one in EXPECTED]
    result = run(client, alone, inputs, list(CAPITALS.values()))
    assert result.metrics["exact-match"].value == 1.0


def test_a_component_that_is_not_there_is_refused_before_anything_runs(client: Client) -> None:
    parts = Parts()
    with pytest.raises(InvalidError, match="reranker"):
        run(client, parts.pipeline(), QUERIES, [{"reranker": {"answer": city}} for city in CAPITALS.values()])
    assert not parts.calls


@pytest.mark.parametrize(
    "options",
    [
        {"simulate_from": {"retriever": "expected"}},
        {"simulate_from": "retriever"},
        {"simulated_outputs": [{"retriever": one["retriever"]} for one in EXPECTED]},
    ],
)
def test_a_simulated_component_is_not_called(client: Client, options: Any) -> None:
    parts = Parts()
    result = run(client, parts.pipeline(), QUERIES, EXPECTED, **options)

    assert parts.calls == {"reader": 4}
    assert result.metrics["exact-match"].value == 1.0
    assert result.rows[1].output["retriever"] == {"documents": ["Paris is the capital."]}


def test_one_simulated_output_may_serve_all(client: Client) -> None:
    parts = Parts()
    given = {"retriever": {"documents": ["Tokyo is the capital."]}}
    result = run(client, parts.pipeline(), QUERIES, EXPECTED, simulated_outputs=given)
    assert [row.output["reader"]["answer"] for row in result] == ["Tokyo"] * 4
    assert result.metrics["exact-match"].value == 0.25


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"simulated_outputs": {"ranker": {}}}, "no component 'ranker' to simulate"),
        ({"simulated_outputs": {"retriever": {"texts": []}}}, "'retriever' has no `documents`, which others read"),
        ({"simulated_outputs": [{}]}, "1 simulated outputs, and there are 4 inputs"),
        ({"simulate_from": {"retriever": "metadata"}}, "takes 'expected'"),
        ({"modes": ["isolate"]}, "no mode 'isolate'"),
    ],
)
def test_what_cannot_be_simulated_is_refused_before_anything_runs(client: Client, options: Any, said: str) -> None:
    parts = Parts()
    with pytest.raises(ValueError, match=r"(?s).*") as caught:
        run(client, parts.pipeline(), QUERIES, EXPECTED, **options)
    assert said in str(caught.value)
    assert not parts.calls


def test_code_that_hides_its_components_runs_as_a_whole_only(client: Client) -> None:
    with pytest.raises(ValueError, match="hides its components"):
        run(client, one, QUERIES, EXPECTED, modes=("integrated", "isolated"))
    with pytest.raises(ValueError, match="hides its components"):
        run(client, one, QUERIES, EXPECTED, simulate_from="retriever")


def test_what_a_component_raises_is_an_error_of_its_row(client: Client) -> None:
    def retriever(query: str) -> dict[str, Any]:
        return {"texts": []} if query == "Spain" else {"documents": [f"{CAPITALS[query]} it is."]}

    result = run(client, Pipeline({"retriever": retriever, "reader": Parts().reader}, LINKS), QUERIES, EXPECTED)
    (bad,) = result.errors
    assert (bad.error_type, result.metrics["exact-match"].n_error) == ("bug", 1)
    assert "'retriever' has put out no `documents`; it has `texts`" in (bad.error_message or "")
