"""What every operation of the OpenAPI document has in common: the problem answers, a summary, names and examples."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from evalsvc.rest.answering.examples import add_examples
from evalsvc.rest.answering.operations import name_operations, name_parts, simplify_schemas
from evalsvc.rest.answering.shapes import described
from evalsvc.rest.answering.words import add_words

PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "errors", "request_id", "remedy"],
    "properties": {
        "type": {"type": "string", "description": "Where the code is explained."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "description": "Stable; see docs/errors."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {
                    "pointer": {"type": "string", "description": "JSON pointer (RFC 6901) into the body or the query."},
                    "detail": {"type": "string"},
                },
            },
        },
        "request_id": {"type": "string"},
        "remedy": {"type": "string"},
    },
}
ANSWERS = {
    "400": "The body or the request cannot be read.",
    "401": "No valid API key.",
    "403": "The key may only read, or https is required.",
    "404": "Not there, or of another account.",
    "409": "The first request with this Idempotency-Key is still running.",
    "413": "The body is too large.",
    "415": "The body's type is not accepted.",
    "422": "Some fields cannot be accepted; `errors` points to them.",
    "429": "The account's request limit is reached.",
    "500": "Something broke on our side.",
    "503": "A part of the service is down; retry.",
}
BODY_ONLY = {"413", "415"}
WITH_IDS_ELSEWHERE = {
    *(("get", "/v1/compare"), ("delete", "/v1/prompt-definitions")),
    *(("post", "/v1/datasets/conversations"), ("post", "/v1/datasets/spans")),
}
"""Operations with ids in the query or the body, which may be of nothing."""
WITH_BODY = {"post", "put", "patch"}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    "description": "The same key and body again within 24 hours give the same answer, and one effect.",
}


def add_common_answers(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, object]:
    """Add the problem answers and the security schemes to every operation."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {}).update({"Problem": PROBLEM, **described()})
    components["securitySchemes"] = {
        "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-KEY"},
        "Bearer": {"type": "http", "scheme": "bearer"},
    }
    if settings.PUBLIC_URL:
        result["servers"] = [{"url": settings.PUBLIC_URL}]
    result["security"] = [{"ApiKey": []}, {"Bearer": []}]
    for path, methods in result["paths"].items():
        for method, operation in methods.items():
            operation.pop("security", None)
            for content in operation.get("requestBody", {}).get("content", {}).values():
                # The generator sets this for serializers, but not for explicit schemas or those of structs.
                if resolve_schema(content.get("schema", {}), components).get("required"):
                    operation["requestBody"]["required"] = True
            if method == "post":
                operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
            for status, description in ANSWERS.items():
                if applies(status, path, method):
                    operation["responses"].setdefault(status, problem_answer(description))
    simplify_schemas(result)
    name_operations(result)
    name_parts(result)
    add_words(result)
    add_examples(result)
    return result


def resolve_schema(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """Return what a schema refers to, or itself."""
    name = schema.get("$ref", "").rpartition("/")[2]
    target: dict[str, Any] = components["schemas"].get(name, schema)
    return target


def applies(status: str, path: str, method: str) -> bool:
    """Return whether an operation can answer with this status."""
    if status == "409":
        return method == "post"
    if status in BODY_ONLY:
        return method in WITH_BODY
    return status != "404" or "{" in path or (method, path) in WITH_IDS_ELSEWHERE


def problem_answer(description: str) -> dict[str, object]:
    """Return the OpenAPI description of a problem answer."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": description, "content": content}
