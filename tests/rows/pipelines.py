"""A pipeline of a retriever and a reader with known faults, and what is right for it."""

from __future__ import annotations

from typing import Any

from tests.rows.service import EXACT, F1

CAPITALS = {"Italy": "Rome", "France": "Paris", "Spain": "Madrid", "Norway": "Oslo"}
DOCUMENTS = {land: {"id": land, "text": f"{city} is the capital of {land}."} for land, city in CAPITALS.items()}
NOISE = [{"id": f"noise {i}", "text": "Nothing of interest."} for i in range(4)]
EXAMPLES = [
    {
        "id": land,
        "input": {"query": land},
        "expected": {"retriever": {"documents": [DOCUMENTS[land]]}, "reader": {"answer": city}},
        "metadata": {"topic": "north" if land == "Norway" else "south"},
    }
    for land, city in CAPITALS.items()
]
BY_COMPONENT = [
    {**EXACT, "component": "reader"},
    {**F1, "component": "reader"},
    {"name": "mrr", "component": "retriever"},
    {"name": "recall", "component": "retriever"},
    {**EXACT, "name": "em alone", "component": "reader", "mode": "isolated"},
]


def read_passages(documents: list[dict[str, Any]], land: str) -> str:
    """A perfect reader: it answers what the passages say, and nothing else."""
    return next((one["text"].split()[0] for one in documents if land in one["text"]), "unknown")


def retrieve(land: str, *, is_broken: bool) -> list[dict[str, Any]]:
    return NOISE[:2] if is_broken and land != "Norway" else [NOISE[0], DOCUMENTS[land]]


def answering(*, is_broken: bool) -> Any:
    """Return the whole pipeline, with what its reader makes of the passages that are right."""

    def answer(example: dict[str, Any]) -> dict[str, Any]:
        land = example["input"]["query"]
        documents = retrieve(land, is_broken=is_broken)
        said = {"retriever": {"documents": documents}, "reader": {"answer": read_passages(documents, land)}}
        alone = {"reader": {"answer": read_passages([DOCUMENTS[land]], land)}}
        return {"output": said, "isolated": alone}

    return answer


def reading(example: dict[str, Any]) -> str:
    """A reader alone, over the passages that come with the example."""
    return read_passages(example["contexts"], example["input"])


def staged(application: Any, name: str, **retriever: Any) -> dict[str, Any]:
    """Return a config of two nodes that an application answers at addresses of this name, counted there."""
    find = application.serve(f"/{name}/find", lambda body: {"hits": retrieve(body["q"], is_broken=True)})
    read = application.serve(f"/{name}/read", lambda body: {"text": read_passages(body["passages"], body["q"])})
    asked = {"kind": "http", "url": find, "body": {"q": "{{input.query}}"}, "output": {"documents": "/hits"}}
    reader = {
        "kind": "http",
        "url": read,
        "body": {"q": "{{input.query}}", "passages": "{{retriever.documents}}"},
        "output": {"answer": "/text"},
    }
    parameters = {"nodes": {"retriever": asked | retriever, "reader": reader}, "output": "/reader/answer"}
    return {"name": name, "kind": "pipeline", "parameters": parameters}
