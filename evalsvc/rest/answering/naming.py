"""What a reader of the OpenAPI document looks for first: a line that sums a call up, named bodies, and an example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

JSON = "application/json"
SHORTENED = "Shortened: more keys may be there, none that is shown is missing."


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Return the examples of calls, by method and path: those of the API pages, where the tests run them."""
    text = files(__package__).joinpath("examples.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def name_operations(document: dict[str, Any]) -> None:
    """Give each operation a summary and its example, and each of its JSON bodies a name under `components`."""
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            operation["summary"] = _first_sentence(operation.get("description", ""))
            for kind, content in _json_contents(operation):
                content["schema"] = _named(content["schema"], schemas, operation["operationId"] + kind)
            _add_examples(operation, examples().get(f"{method} {path}", {}))


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[^.])[.:](?: |$)", paragraph, maxsplit=1)[0]


def _json_contents(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the bodies in JSON that are objects: what is asked, and what is answered where all goes well."""
    parts = [("_body", operation.get("requestBody", {}))]
    parts += [("_answer", answer) for status, answer in operation["responses"].items() if status < "300"]
    for kind, part in parts:
        content = part.get("content", {}).get(JSON)
        if content is not None and content.get("schema", {}).get("type") == "object":
            yield kind, content


def _named(schema: dict[str, Any], schemas: dict[str, Any], fallback: str) -> dict[str, str]:
    name = schema.get("title") or "".join(part.capitalize() for part in fallback.split("_"))
    if schemas.setdefault(name, schema) != schema:
        raise ValueError(f"Two bodies have the name {name!r} in the OpenAPI document.")
    return {"$ref": f"#/components/schemas/{name}"}


def _add_examples(operation: dict[str, Any], example: dict[str, Any]) -> None:
    asked = operation.get("requestBody", {}).get("content", {}).get(JSON)
    if asked is not None and "request" in example:
        asked["examples"] = {"documented": {"summary": "As in the guide", "value": example["request"]}}
    answered = [answer for status, answer in operation["responses"].items() if status < "300"]
    content = next((answer["content"][JSON] for answer in answered if JSON in answer.get("content", {})), None)
    if content is not None and "answer" in example:
        content["examples"] = {
            "documented": {"summary": "As in the guide", "description": SHORTENED, "value": example["answer"]}
        }
