"""Evals and runs that tests begin with."""

from __future__ import annotations

from typing import Any

from openai import OpenAI

SCHEMA = {
    "type": "object",
    "properties": {"question": {"type": "string"}, "category": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["category"],
}
SAME: dict[str, Any] = {
    "type": "string_check",
    "name": "Same",
    "operation": "eq",
    "input": "{{ sample.output_text }}",
    "reference": "{{item.category}}",
}
NUMBER: dict[str, Any] = {
    "type": "string_check",
    "name": "Number",
    "operation": "eq",
    "input": "{{item.n}}",
    "reference": "7",
}


def make_eval(client: OpenAI, *criteria: dict[str, Any], schema: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Make an eval with an `item_schema`."""
    config: Any = {"type": "custom", "item_schema": schema or SCHEMA, "include_sample_schema": True}
    body: dict[str, Any] = {"data_source_config": config, "testing_criteria": list(criteria) or [SAME]}
    return client.evals.create(**body, **fields)


def row(category: str, output: str | None, **item: Any) -> dict[str, Any]:
    """A row, with what the model said of it."""
    sample = {} if output is None else {"sample": {"output_text": output}}
    return {"item": {"category": category, **item}, **sample}


def make_run(client: OpenAI, eval_id: str, rows: list[dict[str, Any]], **fields: Any) -> Any:
    """Grade rows in the body."""
    source: Any = {"type": "jsonl", "source": {"type": "file_content", "content": rows}}
    return client.evals.runs.create(eval_id, data_source=source, **fields)
