"""The example of each operation: from its guide, which the tests run, or recorded by the tests as it was answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

JSON = "application/json"
SHORTENED = "Shortened: more keys may be there, none that is shown is missing."


@cache
def guides() -> dict[str, dict[str, Any]]:
    """Return the texts and examples of calls from the guides, by method and path."""
    return _read("examples.json")


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """Return recorded calls by method and path: those without a complete example in a guide, recorded by the tests."""
    return _read("recorded.json")


def _read(name: str) -> dict[str, dict[str, Any]]:
    examples: dict[str, dict[str, Any]] = json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return examples


def add_examples(document: dict[str, Any]) -> None:
    """Show what to send and what comes back, in each operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = f"{method} {path}"
            _show(operation, recorded().get(name) or guides().get(name, {}))


def _show(operation: dict[str, Any], example: dict[str, Any]) -> None:
    request_content = operation.get("requestBody", {}).get("content", {}).get(JSON)
    if request_content is not None and "request" in example:
        request_content["examples"] = {"documented": {"summary": "As it was sent", "value": example["request"]}}
    content = next(_answers(operation, example.get("media", JSON)), None)
    if content is not None and "answer" in example:
        response_example = {"summary": "As it was answered", "description": SHORTENED, "value": example["answer"]}
        content["examples"] = {"documented": response_example}


def _answers(operation: dict[str, Any], media: str) -> Iterator[dict[str, Any]]:
    for status, answer in operation["responses"].items():
        if status < "300" and media in answer.get("content", {}):
            yield answer["content"][media]
