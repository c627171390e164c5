"""Texts of the OpenAPI document: of operations from their guides, of parameters and keys from `words.json`.

A key is described once, by its name, or as `Shape.key` where its meaning differs.
"""

from __future__ import annotations

import difflib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from evalsvc.rest.answering.examples import guides

ALIKE = 0.75
"""A guide that says what the docstring says, as alike as this, is not repeated."""
# The text that the generator writes for a choice with the same label and value.
_says_nothing = re.compile(r"(?:\* `([^`]*)` - \1\n?)+")


@cache
def _words() -> dict[str, dict[str, str]]:
    texts: dict[str, dict[str, str]] = json.loads(files(__package__).joinpath("words.json").read_text("utf-8"))
    return texts


def add_words(document: dict[str, Any]) -> None:
    """Describe operations, parameters and keys that nothing has described nearer to where they are made."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            _describe_operation(operation, guides().get(f"{method} {path}", {}))
            for parameter in operation.get("parameters", ()):
                _describe_parameter(path, parameter)
            for content in operation.get("requestBody", {}).get("content", {}).values():
                _describe_keys(operation["operationId"], content)
    for name, schema in document["components"]["schemas"].items():
        if name in _words()["shapes"]:
            schema.setdefault("description", _words()["shapes"][name])
        _describe_keys(name, schema)


def _describe_operation(operation: dict[str, Any], guide: dict[str, str]) -> None:
    description, text = operation.get("description", "").strip(), guide.get("text", "")
    if "\n\n" in description:  # the docstring is detailed already
        text = ""
    if "guide" in guide:
        operation["externalDocs"] = {"description": "In the guide", "url": guide["guide"]}
    if difflib.SequenceMatcher(None, description, text).ratio() < ALIKE:
        operation["description"] = "\n\n".join(paragraph for paragraph in (description, text) if paragraph)
    else:
        operation["description"] = max(description, text, key=len)


def _describe_parameter(path: str, parameter: dict[str, Any]) -> None:
    name = parameter["name"]
    _forget_what_says_nothing(parameter)
    if parameter["in"] == "path":
        noun = path.partition("{" + name + "}")[0].rstrip("/").rpartition("/")[2]
        words = _words()["nouns"].get(noun)
        description = words and f"The id of the {words}."
    else:
        description = _words()["parameters"].get(name)
    if description:
        parameter.setdefault("description", description)


def _describe_keys(owner: str, part: Any) -> None:
    """Describe the keys of every object within a schema; `owner` is the nearest name around it."""
    if isinstance(part, list):
        for item in part:
            _describe_keys(owner, item)
    if not isinstance(part, dict):
        return
    owner = part.get("title", owner) if isinstance(part.get("title", ""), str) else owner
    if isinstance(keys := part.get("properties"), dict):
        for name, schema in keys.items():
            _describe_key(owner, name, schema)
    for value in part.values():
        _describe_keys(owner, value)


def _describe_key(owner: str, name: str, schema: dict[str, Any]) -> None:
    _forget_what_says_nothing(schema)
    words = _words()["properties"]
    description = words.get(f"{owner}.{name}") or ("$ref" not in schema and words.get(name))
    if description:
        schema.setdefault("description", description)


def _forget_what_says_nothing(part: dict[str, Any]) -> None:
    if _says_nothing.fullmatch(part.get("description", "")):
        del part["description"]
