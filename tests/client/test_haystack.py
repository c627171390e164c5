"""A real Haystack pipeline, evaluated in three lines: right answers score 1 and wrong ones 0."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
haystack = pytest.importorskip("haystack")

from haystack.components.retrievers.in_memory import InMemoryBM25Retriever  # noqa: E402
from haystack.dataclasses import Document, ExtractedAnswer, GeneratedAnswer  # noqa: E402
from haystack.document_stores.in_memory import InMemoryDocumentStore  # noqa: E402

from evalsvc.client import Client, InvalidError, Pipeline  # noqa: E402
from evalsvc.client.coroutines import Loop  # noqa: E402
from tests.conftest import CHECKOUT  # noqa: E402

CAPITALS = {
    **{"Italy": "Rome", "France": "Paris", "Spain": "Madrid", "Japan": "Tokyo", "Norway": "Oslo"},
    **{"Peru": "Lima", "Egypt": "Cairo", "Kenya": "Nairobi", "Cuba": "Havana", "Ghana": "Accra"},
}
DOCUMENTS = [Document(id=city, content=f"{city} is the capital of {land}.") for land, city in CAPITALS.items()]
INPUTS = [{"query": f"What is the capital of {land}?"} for land in CAPITALS]


@haystack.component
class Reader:
    """Answers with the first word of the best document; wrong on purpose for lands in `unknown`."""

    def __init__(self, *unknown: str) -> None:
        self.unknown = unknown

    @haystack.component.output_types(answers=list[GeneratedAnswer])
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        best = str(documents[0].content)
        said = "Atlantis" if any(land in query for land in self.unknown) else best.split()[0]
        return {"answers": [GeneratedAnswer(data=said, query=query, documents=documents)]}


@haystack.component
class Extractor:
    """Points at the first word of the best document."""

    @haystack.component.output_types(answers=list[ExtractedAnswer])
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        best = documents[0]
        text = str(best.content).split()[0]
        span = ExtractedAnswer.Span(0, len(text))
        return {"answers": [ExtractedAnswer(query=query, score=0.9, data=text, document=best, document_offset=span)]}


def pipeline(reader: Any) -> Any:
    store = InMemoryDocumentStore()
    store.write_documents(DOCUMENTS)
    made = haystack.Pipeline()
    made.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
    made.add_component("reader", reader)
    made.connect("retriever.documents", "reader.documents")
    return made


def inputs_of(made: Any) -> Any:
    return [{"retriever": one, "reader": one} for one in INPUTS]


@pytest.mark.parametrize("reader", [Reader, Extractor])
def test_ten_right_answers_score_one(client: Client, reader: Any) -> None:
    made = pipeline(reader())
    result = client.eval(made, inputs_of(made), list(CAPITALS.values()), evaluators=["exact-match"], progress=False)
    metric = result.metrics["exact-match"]
    assert (metric.value, metric.n, metric.n_error, metric.n_na) == (1.0, 10, 0, 0)


def test_wrong_answers_score_zero(client: Client) -> None:
    made = pipeline(Reader("Italy", "Peru"))
    expected = [{"reader": {"answers": [city]}} for city in CAPITALS.values()]
    result = client.eval(made, inputs_of(made), expected, evaluators=["exact-match"], progress=False)
    assert (result.metrics["exact-match"].value, result.metrics["exact-match"].n) == (0.8, 10)
    assert isinstance(result.rows[0].output["reader"]["answers"][0], GeneratedAnswer) or result.rows[0].output


def test_retrieved_documents_are_matched_by_id(client: Client) -> None:
    store = InMemoryDocumentStore()
    store.write_documents(DOCUMENTS)
    expected = [{"documents": [one]} for one in DOCUMENTS]
    retriever = InMemoryBM25Retriever(store, top_k=3)
    result = client.eval(retriever, INPUTS, expected, evaluators=["metrics/patronus:mrr"], progress=False)
    assert (result.metrics["metrics/patronus:mrr"].value, result.metrics["metrics/patronus:mrr"].n) == (1.0, 10)


def test_a_component_that_the_pipeline_lacks_is_refused_before_it_runs(client: Client) -> None:
    made = pipeline(Reader())
    expected = [{"reranker": {"answers": [city]}} for city in CAPITALS.values()]
    with pytest.raises(InvalidError, match="reranker"):
        client.eval(made, inputs_of(made), expected, evaluators=["exact-match"], progress=False)


def gold() -> list[dict[str, Any]]:
    return [
        {"retriever": {"documents": [one]}, "reader": {"answers": [city]}}
        for one, city in zip(DOCUMENTS, CAPITALS.values(), strict=True)
    ]


def test_a_wrapped_pipeline_runs_itself_and_keeps_what_came_between(client: Client) -> None:
    made = pipeline(Reader("Italy"))
    metrics = [
        {"name": "em", "evaluator": "exact-match", "component": "reader"},
        {"name": "recall", "component": "retriever"},
    ]
    inputs = inputs_of(made)
    result = client.eval(Pipeline.from_haystack(made), inputs, gold(), evaluators=metrics, progress=False)
    assert (result.metrics["em"].value, result.metrics["recall"].value) == (0.9, 1.0)
    assert set(result.rows[0].output) == {"output", "retriever", "reader"}
    assert result.parameters["connections"] == ["retriever.documents -> reader.documents"]


def test_a_simulated_component_of_it_is_not_called(client: Client) -> None:
    made = pipeline(Reader())
    made.get_component("retriever").run = None  # would raise
    result = client.eval(
        Pipeline.from_haystack(made),
        inputs_of(made),
        gold(),
        evaluators=["exact-match"],
        simulate_from={"retriever": "expected"},
        progress=False,
    )
    assert (result.metrics["exact-match"].value, result.n_error) == (1.0, 0)


def test_a_component_of_it_runs_on_what_is_expected() -> None:
    wrapped, loop = Pipeline.from_haystack(pipeline(Reader())), Loop()
    made, errors = wrapped.run_isolated({"reader": INPUTS[0]}, gold()[3], (), loop)
    assert ([one.data for one in made["reader"]["answers"]], errors) == (["Tokyo"], {})  # type: ignore[attr-defined]
    _, errors = wrapped.run_isolated({}, gold()[3], (), loop)
    assert "query" in errors["reader"]
    assert wrapped.run_isolated({}, "Tokyo", (), loop) == ({}, {})
    loop.close()


@haystack.component
class Again:
    """Sends its text around once more."""

    @haystack.component.output_types(text=str, done=str)
    def run(self, text: str, again: str | None = None) -> dict[str, Any]:
        return {"done": f"{text}!"} if again else {"text": text}


@haystack.component
class Echo:
    """Says what it hears."""

    @haystack.component.output_types(text=str)
    def run(self, text: str) -> dict[str, Any]:
        return {"text": text}


def test_one_with_a_loop_is_evaluated_as_a_whole_only(client: Client) -> None:
    made = haystack.Pipeline()
    made.add_component("first", Again())
    made.add_component("second", Echo())
    made.connect("first.text", "second.text")
    made.connect("second.text", "first.again")
    wrapped = Pipeline.from_haystack(made)
    with pytest.raises(ValueError, match="first -> second -> first"):
        client.eval(wrapped, [{"text": "a"}], ["a!"], evaluators="exact-match", modes=("integrated", "isolated"))
    with pytest.raises(ValueError, match="first -> second -> first"):
        client.eval(wrapped, [{"text": "a"}], ["a!"], evaluators="exact-match", simulated_outputs={"second": {}})
    result = client.eval(wrapped, [{"first": {"text": "a"}}], ["a!"], progress=False, metrics={"rows": lambda *_: 1})
    assert result.metrics["rows"].N == 1


@haystack.component
class First:
    """Answers with the first document's id."""

    @haystack.component.output_types(answer=str)
    def run(self, documents: list[Document], style: str = "short") -> dict[str, Any]:
        return {"answer": documents[0].id}


@pytest.mark.parametrize("wrap", [Pipeline.from_haystack, lambda made: made])
def test_a_text_goes_to_the_only_required_input(client: Client, wrap: Any) -> None:
    texts = [fields["query"] for fields in INPUTS]
    expected = [{"documents": [city]} for city in CAPITALS.values()]

    found = client.eval(wrap(pipeline(First())), texts, list(CAPITALS.values()), evaluators=["em"], progress=False)
    ranked = client.eval(wrap(searching()), texts, expected, evaluators=["mrr"], progress=False)

    assert (found.metrics["em"].value, found.n_error) == (1.0, 0)
    assert (ranked.metrics["mrr"].value, ranked.n_error) == (1.0, 0)


def searching() -> Any:
    """Build a pipeline of a retriever alone."""
    store = InMemoryDocumentStore()
    store.write_documents(DOCUMENTS)
    made = haystack.Pipeline()
    made.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
    return made


@pytest.mark.parametrize("wrap", [Pipeline.from_haystack, lambda made: made])
@pytest.mark.parametrize("value", [INPUTS[0], INPUTS[0]["query"], {"top_n": 3}])
def test_an_input_that_two_take_is_refused_before_anything_runs(client: Client, wrap: Any, value: Any) -> None:
    made = pipeline(Reader())
    made.get_component("retriever").run = None  # would raise

    with pytest.raises(ValueError, match=r"retriever.*reader"):
        client.eval(wrap(made), [value], ["Rome"], evaluators=["em"], progress=False)


@haystack.component
class Lost:
    """Finds the documents of another land."""

    @haystack.component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        return {"documents": [Document(id="nowhere", content="Atlantis is the capital of nowhere.")]}


def test_a_broken_retriever_of_the_example_is_found(client: Client) -> None:
    spec = importlib.util.spec_from_file_location("rag", CHECKOUT / "examples" / "haystack-rag" / "rag.py")
    assert spec is not None and spec.loader is not None
    rag = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rag)
    made = haystack.Pipeline()
    for name, part in (("retriever", Lost()), ("ranker", rag.ShortestFirst()), ("reader", rag.Reader())):
        made.add_component(name, part)
    made.connect("retriever.documents", "ranker.documents")
    made.connect("ranker.documents", "reader.documents")
    passages = {land: {"documents": [Document(id=land, content=text)]} for land, text in rag.FACTS.items()}
    expected = [
        {"retriever": passages[land], "ranker": passages[land], "reader": {"answer": city}}
        for land, city in rag.CAPITALS.items()
    ]
    metrics = [
        {"name": "em", "evaluator": "exact-match", "component": "reader"},
        {"name": "recall", "component": "retriever"},
    ]
    options: dict[str, Any] = {"evaluators": metrics, "modes": ("integrated", "isolated"), "progress": False}

    result = client.eval(made, [f"What is the capital of {land}?" for land in rag.FACTS], expected, **options)

    assert result.gaps is not None
    assert result.gaps.bottleneck == ("retriever",)


def test_what_is_no_pipeline_of_haystack_s_is_refused() -> None:
    with pytest.raises(TypeError, match="no Haystack"):
        Pipeline.from_haystack(Reader())


def test_without_a_wrapper_it_has_its_isolated_mode_too(client: Client) -> None:
    made = pipeline(Reader("Italy"))
    metric = {"name": "em", "evaluator": "exact-match", "component": "reader"}
    options: dict[str, Any] = {"evaluators": [metric], "modes": ("integrated", "isolated"), "progress": False}
    result = client.eval(made, inputs_of(made), gold(), **options)
    assert (result.metrics["em"].value, result.metrics["em:isolated"].value) == (0.9, 0.9)
    assert result.gaps is not None
    assert (result.gaps.bottleneck, result.gaps.reason) == ((), "no_gap")


def test_what_is_expected_may_come_from_a_stored_dataset(client: Client) -> None:
    rows = [
        {
            "id": str(i),
            "input": one,
            "expected": {"retriever": {"documents": [doc.to_dict()]}, "reader": {"answers": [city]}},
        }
        for i, (one, doc, city) in enumerate(zip(inputs_of(None), DOCUMENTS, CAPITALS.values(), strict=True))
    ]
    dataset = client.datasets.create("capitals", rows)
    metric = {"name": "em", "evaluator": "exact-match", "component": "reader"}
    found = client.experiment(
        "stored", {"mine": Pipeline.from_haystack(pipeline(Reader()))}, dataset_id=dataset.id, evaluators=[metric],
        modes=("integrated", "isolated"), progress=False,
    )  # fmt: skip
    result = found.result("mine")
    assert (result.metrics["em:isolated"].value, result.rows[0].isolated_errors) == (1.0, {})
