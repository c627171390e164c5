"""Isolated mode: a broken retriever before a perfect reader is found out, with an interval on the gap."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from evalsvc.client import Client, CustomMetric, EvaluationResult, Output, Pipeline
from tests.client.capitals import run
from tests.client.reading import Reader

CITIES = [f"City{i}" for i in range(20)]
QUERIES = [{"query": f"land {i}"} for i in range(20)]
EXPECTED: list[dict[str, Any]] = [
    {"retriever": {"documents": [f"{city} is the capital."]}, "reader": {"answer": city}} for city in CITIES
]
MODES = ("integrated", "isolated")
EM = {"name": "em", "evaluator": "exact-match", "component": "reader"}


def retriever(query: str) -> dict[str, Any]:
    """Is right about every fourth land."""
    i = int(query.split()[1])
    return {"documents": [f"{CITIES[i] if i % 4 == 0 else 'Atlantis'} is the capital."]}


def reader(documents: list[str]) -> dict[str, Any]:
    return {"answer": documents[0].split()[0]}


def rag(read: Any = reader) -> Pipeline:
    return Pipeline({"retriever": retriever, "reader": read}, ["retriever.documents -> reader.documents"])


@pytest.fixture
def result(client: Client) -> EvaluationResult:
    return run(client, rag(), QUERIES, EXPECTED, evaluators=[EM], modes=MODES)


def test_a_broken_retriever_before_a_perfect_reader_is_the_bottleneck(result: EvaluationResult) -> None:
    reader = result.metrics.by_component["reader"]
    assert (reader["integrated"]["em"].value, reader["isolated"]["em"].value) == (0.25, 1.0)
    assert result.gaps is not None
    (gap,) = result.gaps
    assert (gap.component, gap.replaced, gap.value, gap.n) == ("reader", ("retriever",), 0.75, 20)
    assert gap.lower is not None and gap.lower > 0
    assert result.gaps.bottleneck == ("retriever",)
    assert "integrated 0.25, isolated 1, gap +0.75 [" in str(result)
    assert str(result).endswith("bottleneck: retriever")


def test_it_is_drawn_and_tabulated(result: EvaluationResult) -> None:
    page = Reader(result._repr_html_())
    assert page.tags.count("svg") == 3
    assert "bottleneck: retriever" in page.text
    assert result.gaps is not None
    assert len(result.gaps.spans()) == 1
    pytest.importorskip("pandas")
    assert list(result.gaps.to_dataframe()["gap"]) == [0.75]


def test_the_final_answer_has_both_modes_without_naming_its_component(client: Client) -> None:
    result = run(client, rag(), QUERIES, EXPECTED, modes=MODES)
    assert (result.metrics["exact-match"].value, result.metrics["exact-match:isolated"].value) == (0.25, 1.0)


def test_own_metrics_get_the_part_of_their_component(client: Client) -> None:
    def right(input: Any, output: Any, expected: Any) -> bool:
        return output == expected

    metrics = {"right": CustomMetric(right, binary=True, component="reader")}
    result = run(client, rag(), QUERIES, EXPECTED, evaluators=[], metrics=metrics)
    assert result.metrics["right"].value == 0.25


def test_an_example_that_expects_nothing_of_the_predecessor_is_not_applicable(client: Client) -> None:
    expected = [one if i % 2 else {"reader": one["reader"]} for i, one in enumerate(EXPECTED)]
    result = run(client, rag(), QUERIES, expected, evaluators=[EM], modes=MODES)
    metric = result.metrics["em:isolated"]
    assert (metric.n, metric.n_na, metric.n_error) == (10, 10, 0)
    assert result.rows[0].isolated is None
    assert result.rows[1].isolated == {"reader": {"answer": "City1"}}


def test_a_component_that_breaks_by_itself_has_failed_and_not_said_nothing(client: Client) -> None:
    def strict(documents: list[str]) -> dict[str, Any]:
        if documents == EXPECTED[3]["retriever"]["documents"]:
            raise KeyError("no such city")
        return reader(documents)

    result = run(client, rag(strict), QUERIES, EXPECTED, evaluators=[EM], modes=MODES)
    metric = result.metrics["em:isolated"]
    assert (metric.n, metric.n_na, metric.n_error, metric.value) == (19, 0, 1, 0.95)
    assert result.metrics["em"].n_error == 0
    assert result.rows[3].isolated_errors == {"reader": "KeyError: 'no such city'"}
    assert result.rows[3].scores["em:isolated"].value is None


def test_a_component_runs_by_itself_where_the_whole_has_failed(client: Client) -> None:
    def broken(query: str) -> dict[str, Any]:
        if query == "land 2":
            raise TimeoutError("no answer")
        return retriever(query)

    pipeline = Pipeline({"retriever": broken, "reader": reader}, ["retriever.documents -> reader.documents"])
    result = run(client, pipeline, QUERIES[:6], EXPECTED[:6], evaluators=[EM], modes=MODES)
    assert (result.metrics["em"].n_error, result.metrics["em:isolated"].n_error) == (1, 0)
    assert (result.metrics["em:isolated"].n, result.metrics["em:isolated"].value) == (6, 1.0)


def test_what_components_do_by_themselves_is_no_part_of_the_latency(client: Client) -> None:
    import time

    def slow(documents: list[str]) -> dict[str, Any]:
        if "Atlantis" not in documents[0]:
            time.sleep(0.2)
        return reader(documents)

    result = run(client, rag(slow), QUERIES[1:3], EXPECTED[1:3], evaluators=[EM], modes=MODES)
    assert max(row.latency_ms or 0 for row in result) < 150


def test_code_may_bring_what_its_components_made_itself(client: Client) -> None:
    def app(query: str) -> Output:
        part = retriever(query)
        city = CITIES[int(query.split()[1])]
        return Output({"retriever": part, "reader": reader(part["documents"])}, isolated={"reader": {"answer": city}})

    twins = [EM, {**EM, "name": "em alone", "mode": "isolated"}]
    result = run(client, app, QUERIES, EXPECTED, evaluators=twins)
    assert (result.metrics["em"].value, result.metrics["em alone"].value) == (0.25, 1.0)


def test_an_interrupted_run_goes_on_in_both_modes(client: Client) -> None:
    calls: list[str] = []

    def counted(query: str) -> dict[str, Any]:
        calls.append(query)
        return retriever(query)

    cut = Pipeline({"retriever": counted, "reader": reader}, ["retriever.documents -> reader.documents"])
    options: dict[str, Any] = {"evaluators": [EM], "modes": MODES, "progress": False, "threads": 1}
    partials: Any = client.eval_iter(cut, QUERIES, EXPECTED, name="cut", **options)
    with closing(partials):
        next(one for one in partials if len(one))
    found = client.experiments.list(name="cut").first()
    assert found is not None
    result = client.resume(found.id, cut, progress=False)
    assert (result.metrics["em"].value, result.metrics["em:isolated"].value) == (0.25, 1.0)
    assert sorted(calls) == sorted(one["query"] for one in QUERIES)


def chain(find: Any = retriever) -> Pipeline:
    """The usual pipeline: examples expect documents and answers, and nothing of the prompt or of the LLM."""

    def prompt(documents: list[str]) -> dict[str, Any]:
        return {"prompt": f"Where? {documents[0]}"}

    def llm(prompt: str) -> dict[str, Any]:
        return {"replies": [prompt.split("? ")[1].split()[0]]}

    def build(replies: list[str]) -> dict[str, Any]:
        return {"answer": replies[0]}

    parts = {"retriever": find, "prompt": prompt, "llm": llm, "reader": build}
    links = ["retriever.documents -> prompt.documents", "prompt.prompt -> llm.prompt", "llm.replies -> reader.replies"]
    return Pipeline(parts, links)


def test_a_broken_retriever_is_found_behind_components_of_which_nothing_is_expected(client: Client) -> None:
    result = run(client, chain(), QUERIES, EXPECTED, evaluators=[EM], modes=MODES)

    assert result.gaps is not None
    (gap,) = result.gaps
    assert (gap.component, gap.replaced, gap.integrated, gap.isolated) == ("reader", ("retriever",), 0.25, 1.0)
    assert result.gaps.bottleneck == ("retriever",)
    assert result.rows[1].isolated == {
        "prompt": {"prompt": "Where? City1 is the capital."},
        "llm": {"replies": ["City1"]},
        "reader": {"answer": "City1"},
    }


def test_a_perfect_retriever_before_the_same_components_is_no_bottleneck(client: Client) -> None:
    def right(query: str) -> dict[str, Any]:
        return {"documents": [f"{CITIES[int(query.split()[1])]} is the capital."]}

    result = run(client, chain(right), QUERIES, EXPECTED, evaluators=[EM], modes=MODES)

    assert result.gaps is not None
    assert (result.gaps.bottleneck, result.gaps.reason) == ((), "no_gap")


def test_what_breaks_on_expected_inputs_is_the_error_of_what_reads_it(client: Client) -> None:
    def strict(documents: list[str]) -> dict[str, Any]:
        if documents[0].startswith("City3 "):
            raise KeyError("no such city")
        return {"prompt": documents[0]}

    def llm(prompt: str) -> dict[str, Any]:
        return {"answer": prompt.split()[0]}

    links = ["retriever.documents -> prompt.documents", "prompt.prompt -> reader.prompt"]
    pipeline = Pipeline({"retriever": retriever, "prompt": strict, "reader": llm}, links)
    result = run(client, pipeline, QUERIES[:8], EXPECTED[:8], evaluators=[EM], modes=MODES)

    metric = result.metrics["em:isolated"]
    assert (metric.n, metric.n_na, metric.n_error) == (7, 0, 1)
    assert "'prompt', which it reads, failed" in result.rows[3].isolated_errors["reader"]


def test_a_predecessor_with_nothing_expected_upstream_gives_what_it_made(client: Client) -> None:
    def rewriter(wording: str) -> dict[str, Any]:
        return {"query": wording.upper()}

    def read(documents: list[str], query: str) -> dict[str, Any]:
        return {"answer": documents[0].split()[0], "query": query}

    links = ["retriever.documents -> reader.documents", "rewriter.query -> reader.query"]
    pipeline = Pipeline({"retriever": retriever, "rewriter": rewriter, "reader": read}, links)
    inputs = [{"query": f"land {i}", "wording": f"land {i}"} for i in range(20)]
    result = run(client, pipeline, inputs, EXPECTED, evaluators=[EM], modes=MODES)

    assert result.rows[1].isolated == {"reader": {"answer": "City1", "query": "LAND 1"}}


def rank(documents: list[str]) -> dict[str, Any]:
    return {"documents": sorted(documents, key=len)}


def rank_wrongly(documents: list[str]) -> dict[str, Any]:
    return {"documents": ["Atlantis is the capital."] if len(documents) > 1 else documents}


def find_all(query: str) -> dict[str, Any]:
    return {"documents": [f"{CITIES[int(query.split()[1])]} is the capital.", "Rome is warm in the long summer."]}


@pytest.mark.parametrize(
    ("find", "order", "culprit"), [(retriever, rank, "retriever"), (find_all, rank_wrongly, "ranker")]
)
def test_an_expected_output_does_not_hide_what_was_broken_before_it(
    client: Client, find: Any, order: Any, culprit: str
) -> None:
    pipeline = Pipeline(
        {"retriever": find, "ranker": order, "reader": reader},
        ["retriever.documents -> ranker.documents", "ranker.documents -> reader.documents"],
    )
    expected = [{**row, "ranker": row["retriever"]} for row in EXPECTED]
    metrics = [EM, {"name": "recall", "component": "retriever"}]

    result = run(client, pipeline, QUERIES, expected, evaluators=metrics, modes=MODES)

    assert result.gaps is not None
    assert result.gaps.bottleneck == (culprit,)


def find_half(query: str) -> dict[str, Any]:
    """Find one of the two passages that are needed, each time."""
    return {"documents": [f"{CITIES[int(query.split()[1])]} is", "Rome is warm."]}


def find_both(query: str) -> dict[str, Any]:
    return {"documents": [f"{CITIES[int(query.split()[1])]} is", "the capital.", "Rome is warm."]}


def keep_two(documents: list[str]) -> dict[str, Any]:
    return {"documents": documents[:2]}


def keep_last(documents: list[str]) -> dict[str, Any]:
    return {"documents": documents[-1:]}


def read_both(documents: list[str]) -> dict[str, Any]:
    return {"answer": documents[0].split()[0] if "the capital." in documents else "Atlantis"}


@pytest.mark.parametrize(
    ("find", "order", "culprit"),
    [(find_half, keep_two, "retriever"), (find_both, keep_last, "ranker"), (find_half, keep_last, "ranker")],
)
def test_a_retriever_that_is_half_broken_is_named(client: Client, find: Any, order: Any, culprit: str) -> None:
    pipeline = Pipeline(
        {"retriever": find, "ranker": order, "reader": read_both},
        ["retriever.documents -> ranker.documents", "ranker.documents -> reader.documents"],
    )
    right = [{"documents": [f"{city} is", "the capital."]} for city in CITIES]
    expected = [
        {"retriever": documents, "ranker": documents, "reader": {"answer": city}}
        for documents, city in zip(right, CITIES, strict=True)
    ]
    metrics = [
        EM,
        {"name": "recall", "component": "retriever"},
        {"name": "kept", "evaluator": "metrics/recall", "component": "ranker"},
    ]

    result = run(client, pipeline, QUERIES, expected, evaluators=metrics, modes=MODES)

    assert result.gaps is not None
    assert result.gaps.bottleneck == (culprit,), str(result.gaps)


def test_each_component_upstream_has_a_gap(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = Pipeline(
        {"retriever": retriever, "ranker": rank, "reader": reader},
        ["retriever.documents -> ranker.documents", "ranker.documents -> reader.documents"],
    )
    expected = [{**row, "ranker": row["retriever"]} for row in EXPECTED]

    result = run(client, pipeline, QUERIES, expected, evaluators=[EM], modes=MODES, progress=True)

    assert result.gaps is not None
    assert [(gap.replaced, gap.value) for gap in result.gaps] == [(("ranker",), 0.75), (("retriever",), 0.75)]
    assert result.gaps.bottleneck == ("retriever",)
    assert "reader em with expected retriever: integrated 0.25, isolated 1, gap +0.75 [" in str(result.gaps)
    assert result.metrics.by_component["reader"]["isolated:retriever"]["em"].value == 1.0
    assert result.rows[1].isolated is not None
    assert result.rows[1].isolated["reader:retriever"] == {"answer": "City1"}
    # Ranker and reader run on expected documents, and both again behind the retriever.
    assert "Isolated mode: at most 80 runs of components more (20 examples)" in capsys.readouterr().err


def test_a_component_that_breaks_behind_one_expected_output_has_failed(client: Client) -> None:
    def strict(documents: list[str]) -> dict[str, Any]:
        if documents == ["Rome is warm."]:
            raise KeyError("no such city")
        return {"documents": documents}

    pipeline = Pipeline(
        {"retriever": retriever, "ranker": strict, "reader": reader},
        ["retriever.documents -> ranker.documents", "ranker.documents -> reader.documents"],
    )
    expected = [{**row, "ranker": row["retriever"]} for row in EXPECTED]
    expected[3] = {**expected[3], "retriever": {"documents": ["Rome is warm."]}}

    result = run(client, pipeline, QUERIES, expected, evaluators=[EM], modes=MODES)

    assert result.metrics["em:isolated:retriever"].n_error == 1
    assert result.metrics["em:isolated"].n_error == 0
    assert "failed: KeyError" in result.rows[3].isolated_errors["reader:retriever"]
