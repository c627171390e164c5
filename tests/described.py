"""Every answer that a test gets is held to the OpenAPI document: no key that it does not name, no other type of value."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import jsonschema_rs
from django.http import HttpResponse
from django.test import Client
from django.urls import Resolver404, resolve

PARAMETER = re.compile(r"<(?:[a-z]+:)?([a-z_]+)>")


def check_described(method: str, path: str, response: HttpResponse) -> None:
    """Fail where a successful JSON answer says what the document does not."""
    is_json = response.headers.get("Content-Type") == "application/json"
    if response.streaming or not is_json or not 200 <= response.status_code < 300:
        return
    try:
        route = resolve(path.split("?")[0]).route
    except Resolver404:
        return
    described = "/" + PARAMETER.sub(r"{\1}", route)
    validator = _validator(method.lower(), described, str(response.status_code))
    if validator is None:
        return
    wrong = {told for error in validator.iter_errors(response.json()) for told in _told(error)}  # type: ignore[attr-defined]
    assert not wrong, f"{method} {path} answers what the OpenAPI document does not say: {sorted(wrong)[:5]}"


def _told(error: Any) -> list[str]:
    """Return what is wrong, in the schema of a choice that comes nearest: null fits nothing but null."""
    choices = getattr(error.kind, "context", None)
    if not choices:
        return [f"{'/'.join(map(str, error.instance_path))}: {error.message[:200]}"]
    nearest = max(choices, key=lambda errors: max((len(one.instance_path) for one in errors), default=0))
    return [told for one in nearest for told in _told(one)]


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = Client().get("/v1/openapi.json").json()
    return document


@cache
def _components() -> dict[str, Any]:
    return {"schemas": closed(_document()["components"]["schemas"])}


@cache
def _validator(method: str, path: str, status: str) -> Any:
    operation = _document()["paths"].get(path, {}).get(method, {})
    answer = operation.get("responses", {}).get(status, {}).get("content", {}).get("application/json")
    if answer is None:
        return None
    return jsonschema_rs.Draft202012Validator({**closed(answer["schema"]), "components": _components()})


def closed(part: Any) -> Any:
    """Return a schema in which an object has no key but those that are named, unless it says that it may."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {name: closed(one) for name, one in part.items()}
    if isinstance(part.get("properties"), dict) and "additionalProperties" not in part:
        found["additionalProperties"] = False
    return found
