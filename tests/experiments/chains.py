"""A retriever, a prompt builder, a reader and an answer builder, each of which can be broken: as code, and as nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import closing
from typing import Any

from evalsvc.client.coroutines import Loop
from evalsvc.client.pipeline.pipelines import Pipeline
from tests.caller import Caller
from tests.experiments.pushing import Runner
from tests.faults.application import Answer, Application, as_json

NAMES = ("retriever", "prompt_builder", "reader", "answer_builder")
EM = {"name": "em", "evaluator": "exact-match", "component": "answer_builder"}
MODES = ["integrated", "isolated"]


class Chain:
    """The four components. A broken one is wrong about three of four questions."""

    def __init__(self) -> None:
        self.broken: Collection[str] = ()
        self.asked: Counter[str] = Counter()
        self.server = Application()
        self.server.answer = self.answer

    def answer(self, body: dict[str, Any]) -> Answer:
        return as_json(getattr(self, body.pop("of"))(**body))

    def _say(self, name: str, i: str, field: str, value: str) -> dict[str, Any]:
        self.asked[name] += 1
        is_wrong = name in self.broken and (not i.isdigit() or int(i) % 4 != 0)
        return {field: "wrong" if is_wrong else value}

    def retriever(self, query: str) -> dict[str, Any]:
        return self._say("retriever", query[1:], "document", f"passage {query[1:]}")

    def prompt_builder(self, document: str) -> dict[str, Any]:
        i = document.split()[-1]
        return self._say("prompt_builder", i, "prompt", f"Read {i}")

    def reader(self, prompt: str) -> dict[str, Any]:
        i = prompt.split()[-1]
        return self._say("reader", i, "reply", f"It is {i}")

    def answer_builder(self, reply: str) -> dict[str, Any]:
        i = reply.split()[-1]
        return self._say("answer_builder", i, "answer", f"a{i}")

    @property
    def code(self) -> Pipeline:
        links = ["retriever.document", "prompt_builder.prompt", "reader.reply"]
        return Pipeline(
            {name: getattr(self, name) for name in NAMES},
            [f"{link} -> {name}.{link.split('.')[1]}" for link, name in zip(links, NAMES[1:], strict=True)],
        )

    @property
    def nodes(self) -> dict[str, Any]:
        """A config that our workers run."""
        reads = (
            ("query", "{{input.query}}"),
            *(
                (field, f"{{{{{name}.{field}}}}}")
                for name, field in zip(NAMES, ("document", "prompt", "reply"), strict=False)
            ),
        )
        fields = ("document", "prompt", "reply", "answer")
        nodes = {
            name: {
                "kind": "http",
                "url": self.server.url,
                "body": {"of": name, parameter: template},
                "output": {field: f"/{field}"},
            }
            for name, (parameter, template), field in zip(NAMES, reads, fields, strict=True)
        }
        return {"name": "mine", "kind": "pipeline", "parameters": {"nodes": nodes, "output": "/answer_builder/answer"}}

    @property
    def declared(self) -> dict[str, Any]:
        """A config whose components run here."""
        parameters = {"components": self.code.components, "connections": self.code.connections}
        return {"name": "mine", "kind": "push", "parameters": parameters}


def examples(n: int, labelled: Collection[str] = NAMES) -> list[dict[str, Any]]:
    """Questions with what is expected of some components."""
    return [
        {
            "id": f"e{i}",
            "input": {"query": f"q{i}"},
            "expected": {
                name: part
                for name, part in {
                    "retriever": {"document": f"passage {i}"},
                    "prompt_builder": {"prompt": f"Read {i}"},
                    "reader": {"reply": f"It is {i}"},
                    "answer_builder": {"answer": f"a{i}"},
                }.items()
                if name in labelled
            },
        }
        for i in range(n)
    ]


def push(caller: Caller, made: Any, pipeline: Pipeline, by_source: dict[str, list[str]]) -> None:
    """Run a push config as the client does."""
    runner = Runner(caller, made)
    with closing(Loop()) as loop:
        while unit := runner.lease()["unit"]:
            rows = []
            for example in unit["examples"]:
                inputs = pipeline.expand(example["input"])
                output = pipeline.run_on(inputs, {}, loop)
                isolated, errors = pipeline.run_isolated(inputs, example["expected"], (), loop, output, by_source)
                rows.append({"pos": example["pos"], "output": output, "isolated": isolated, "isolated_errors": errors})
            runner.post(unit, rows)
