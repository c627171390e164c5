"""The calls of the API as people read of them: in groups, Evaluate first, each with what it sends and answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from evalsvc.ops.reference.document import openapi
from evalsvc.ops.reference.keys import READER, Key, inline_html, kind_in_words, resolve_schema, shape_keys

JSON = "application/json"
LONGEST_QUERY = 200
_head = '-H "X-API-KEY: $EVALSVC_API_KEY"'


@dataclass(frozen=True, slots=True)
class CallContent:
    """A body or an answer in one media type."""

    status: str
    media: str
    shape: str
    text: str
    keys: tuple[Key, ...]
    example: str


@dataclass(frozen=True, slots=True)
class Call:
    """One operation. Its name is that of the function in a generated client."""

    name: str
    method: str
    path: str
    summary: str
    description: SafeString
    guide: str
    parameters: tuple[tuple[str, Key], ...]
    asked: tuple[CallContent, ...]
    answered: tuple[CallContent, ...]
    refused: tuple[tuple[str, str], ...]
    curl: str
    folded: str
    """All that a search looks through, in small letters."""


@dataclass(frozen=True, slots=True)
class CallGroup:
    """Calls about one noun."""

    name: str
    text: str
    calls: tuple[Call, ...]


@cache
def call_groups() -> tuple[CallGroup, ...]:
    """Return the groups in the document's order of tags, which begins with evaluations, each with evaluate first."""
    groups: dict[str, tuple[str, list[Call]]] = {tag["name"]: (tag["description"], []) for tag in openapi()["tags"]}
    for path, methods in openapi()["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]][1].append(_call(method.upper(), path, operation))
    return tuple(
        CallGroup(name, text, tuple(sorted(calls, key=partial(_place, name)))) for name, (text, calls) in groups.items()
    )


def find_call(name: str) -> Call | None:
    """Return a call by its operation name, or by the fragment of its guide's URL."""
    calls = [call for group in call_groups() for call in group.calls]
    return next((call for call in calls if name in (call.name, call.guide.partition("#")[2])), None)


def search_calls(query: str) -> tuple[CallGroup, ...]:
    """Return the groups with the calls that contain every word of a query."""
    words = query[:LONGEST_QUERY].casefold().split()
    groups = (
        CallGroup(
            group.name, group.text, tuple(call for call in group.calls if all(word in call.folded for word in words))
        )
        for group in call_groups()
    )
    return tuple(group for group in groups if group.calls)


def _place(group: str, call: Call) -> tuple[bool, bool, str, str]:
    """Return the sort key within a group: evaluate first, then calls under the group's own path; POST before GET."""
    is_evaluate = f"{call.path}/".startswith("/v1/evaluate/")
    is_other = not call.path.startswith(f"/v1/{group.replace(' ', '-')}")
    verbs = {"POST": "1", "GET": "2", "PUT": "3", "PATCH": "4", "DELETE": "5"}
    return (not is_evaluate, is_other, call.path, verbs[call.method])


def _call(method: str, path: str, operation: dict[str, Any]) -> Call:
    body = operation.get("requestBody", {})
    answers = operation["responses"].items()
    bodies = tuple(_contents("", body))
    search_text = " ".join((method, path, operation["operationId"], *operation["tags"], operation["description"]))
    return Call(
        name=operation["operationId"],
        method=method,
        path=path,
        summary=operation["summary"],
        description=as_html(operation["description"]),
        guide=operation.get("externalDocs", {}).get("url", ""),
        parameters=tuple(_parameters(operation)),
        asked=bodies,
        answered=tuple(
            content for status, answer in answers if status < "300" for content in _contents(status, answer)
        ),
        refused=tuple((status, answer["description"]) for status, answer in answers if status >= "300"),
        curl=_curl(method, path, operation, bodies),
        folded=search_text.casefold(),
    )


def as_html(markdown: str) -> SafeString:
    """Return a description of ours as HTML; HTML in it would be text."""
    return mark_safe(READER.render(markdown))  # noqa: S308  # nosec B308, B703


def _parameters(operation: dict[str, Any]) -> Iterator[tuple[str, Key]]:
    for parameter in operation.get("parameters", ()):
        text = inline_html(parameter.get("description", ""))
        yield (
            parameter["in"],
            Key(parameter["name"], kind_in_words(parameter["schema"]), parameter.get("required", False), text, ()),
        )


def _contents(status: str, part: dict[str, Any]) -> Iterator[CallContent]:
    contents = part.get("content", {})
    if not contents and status:
        yield CallContent(status, "", "", part.get("description") or "Done; there is no body.", (), "")
    for media, content in contents.items():
        schema = content.get("schema", {})
        example_value = next((example["value"] for example in content.get("examples", {}).values()), None)
        name, _ = resolve_schema(schema)
        yield CallContent(
            status, media, name, part.get("description", ""), shape_keys(schema), _format_example(example_value)
        )


def _format_example(example: Any) -> str:
    if example is None or isinstance(example, str):
        return example or ""
    return json.dumps(example, indent=2, ensure_ascii=False)


def _curl(method: str, path: str, operation: dict[str, Any], asked: tuple[CallContent, ...]) -> str:
    needed = [
        parameter["name"]
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query" and parameter.get("required")
    ]
    query = "?" + "&".join(f"{name}=…" for name in needed) if needed else ""
    verb = "" if method == "GET" else f"-X {method} "
    parts = [f'curl {verb}"$EVALSVC_URL{_replace_ids(path)}{query}"', _head]
    body = next((content.example for content in asked if content.media == JSON and content.example), "")
    if body:
        quoted = body.replace("'", "'\\''")
        parts += ['-H "CallContent-Type: application/json"', f"-d '{quoted}'"]
    return " \\\n  ".join(parts)


def _replace_ids(path: str) -> str:
    """Return the address with variables of a shell for its ids."""
    return re.sub(r"\{(\w+)\}", lambda found: "${" + found[1] + "}", path)
