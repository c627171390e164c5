"""A retriever and a reader behind one address, and pipelines of the two."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.caller import Caller
from tests.experiments.conftest import EXACT, finish, make_dataset, make_experiment, ok, recounted
from tests.faults.application import Answer, Application, as_json

READER_EM = {"name": "em", "evaluator": "exact-match", "component": "reader"}
RECALL = {"name": "recall", "component": "retriever"}


class Rag:
    """The application: a retriever that may be broken, and a reader that says what the first document says."""

    def __init__(self) -> None:
        self.server = Application()
        self.server.answer = self.answer
        self.is_broken = False
        self.broken: set[str] = set()
        self.asked: Counter[str] = Counter()

    def answer(self, body: Any) -> Answer:
        self.asked[body["of"]] += 1
        if body["of"] == "retriever":
            found = "nothing" if self.is_broken or body["query"] in self.broken else f"a{body['query'][1:]}"
            return as_json({"documents": [{"id": f"d-{found}", "content": found}]})
        return as_json({"answer": body["documents"][0]["content"]})

    def retriever(self, **parameters: Any) -> dict[str, Any]:
        """A node; what it is asked says `of` which kind."""
        body = {"of": "retriever", "query": "{{input.q}}"}
        node = {"kind": "http", "url": self.server.url, "body": body, "output": {"documents": "/documents"}}
        return node | parameters

    def reader(self, **parameters: Any) -> dict[str, Any]:
        """A node that reads the retriever."""
        body = {"of": "reader", "documents": "{{retriever.documents}}"}
        return {"kind": "http", "url": self.server.url, "body": body, "output": {"answer": "/answer"}} | parameters

    def pipeline(self, name: str = "rag", **parameters: Any) -> dict[str, Any]:
        """A config of the two."""
        nodes = {"retriever": self.retriever(), "reader": self.reader()} | parameters.pop("nodes", {})
        return {
            "name": name,
            "kind": "pipeline",
            "parameters": {"nodes": nodes, "output": "/reader/answer"} | parameters,
        }


def examples(n: int) -> list[dict[str, Any]]:
    """Questions, with the document and the answer that are wanted of each component."""
    return [
        {
            "id": f"e{i}",
            "input": {"q": f"q{i}"},
            "expected": {
                "retriever": {"documents": [{"id": f"d-a{i}", "content": f"a{i}"}]},
                "reader": {"answer": f"a{i}"},
            },
        }
        for i in range(n)
    ]


def run(caller: Caller, configs: list[dict[str, Any]], *, n: int = 6, **plan: Any) -> Any:
    made = make_experiment(caller, make_dataset(caller, examples(n)), configs, **plan)
    finish(caller, made["id"])
    assert recounted(caller, made["id"]) == []
    return made


def refused(caller: Caller, config: dict[str, Any], **plan: Any) -> Any:
    plan = {"dataset_id": make_dataset(caller, examples(2)), "metrics": [EXACT], "start": True} | plan
    return ok(caller.post("/v1/experiments", {"name": "x", "plan": plan, "configs": [config]}), 422)["errors"]
