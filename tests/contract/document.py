"""Answers held to the OpenAPI document."""

from __future__ import annotations

from typing import Any

import jsonschema

CHECK = jsonschema.Draft202012Validator.FORMAT_CHECKER


def validated(document: dict[str, Any], method: str, path: str, answer: Any) -> Any:
    """Hold an answer to the schema of its route and status; return its body."""
    responses = document["paths"][path][method]["responses"]
    content = responses[str(answer.status_code)]["content"]
    media = answer["Content-Type"].split(";")[0]
    schema = {**content[media]["schema"], "components": document["components"]}
    body = answer.json()
    jsonschema.Draft202012Validator(schema, format_checker=CHECK).validate(body)
    return body
