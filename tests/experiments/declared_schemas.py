"""Configs that declare what their outputs are like, and plans that read them."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller
from tests.experiments.conftest import (
    make_dataset,
    ok,
)
from tests.experiments.pushing import PUSH

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
PAIRS = {"type": "array", "items": {"type": "array", "items": NUMBER, "minItems": 2}}
DOCUMENTS = {"type": "array", "items": {"$ref": "#/$defs/document"}}
DOCUMENT = {"type": "object", "properties": {"id": TEXT, "text": TEXT}, "required": ["id"]}
ANSWER = {
    "type": "object",
    "properties": {
        "answer": TEXT,
        "seconds": NUMBER,
        "documents": DOCUMENTS,
        "tags": {"type": "object"},
        "pairs": PAIRS,
    },
    "required": ["answer"],
    "$defs": {"document": DOCUMENT},
}
EXAMPLES = [{"id": f"e{i}", "input": "q", "expected": f"a{i}"} for i in range(6)]


def declared(schema: Any, **parameters: Any) -> dict[str, Any]:
    return {**PUSH, "parameters": {"output_schema": schema, **parameters}}


def served(schema: Any = None, url: str = "https://app.example.com/ask", **parameters: Any) -> dict[str, Any]:
    declaring = {} if schema is None else {"output_schema": schema}
    return {"name": "app", "kind": "http", "parameters": {"url": url, **declaring, **parameters}}


def asked(caller: Caller, configs: list[Any], metrics: list[Any], examples: Any = EXAMPLES, **plan: Any) -> Any:
    return {
        "name": "x",
        "plan": {"dataset_id": make_dataset(caller, examples), "metrics": metrics, **plan},
        "configs": configs,
    }


def refused(caller: Caller, body: Any, path: str = "/v1/experiments") -> Any:
    (error,) = ok(caller.post(path, body), 422)["errors"]
    return error
