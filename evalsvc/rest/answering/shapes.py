"""Answers as structs: one type says what is sent, writes it, and describes it in the OpenAPI document."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

import msgspec
from drf_spectacular.utils import OpenApiResponse

_described: dict[str, type[msgspec.Struct]] = {}
# They are written as before by whoever writes the JSON.
_PLAIN = (datetime, uuid.UUID)
ADDRESS = "#/components/schemas/{name}"


class AnswerShape(msgspec.Struct, kw_only=True, frozen=True):
    """A part of an answer. A key may only be left out where its default is UNSET."""


class KeyWarning(AnswerShape):
    """A key that nothing reads, or an input of the wrong type."""

    pointer: str
    detail: str
    did_you_mean: list[str]


def answers_with(shape: type[msgspec.Struct], description: str = "") -> dict[Any, Any]:
    """Return what `extend_schema` wants to know of a 200 with this body."""
    return {(200, "application/json"): answer_with(shape, description)}


def answer_with(shape: type[msgspec.Struct], description: str = "") -> OpenApiResponse:
    """Return the description of an answer with this body."""
    return OpenApiResponse(reference(shape), description)


def reference(shape: type[msgspec.Struct]) -> dict[str, object]:
    """Return a reference to a shape, and have the document describe it under its own name."""
    if _described.setdefault(shape.__name__, shape) is not shape:
        raise TypeError(f"Two shapes are named {shape.__name__}.")
    return {"$ref": ADDRESS.format(name=shape.__name__)}


def described() -> dict[str, object]:
    """Return the schemas of all shapes that are referred to, and of their parts, by name."""
    return msgspec.json.schema_components(_described.values(), ref_template=ADDRESS)[1]


def to_plain(value: object) -> object:
    """Return a struct as a dict, for an encoder that does not know it; anything else as text."""
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, builtin_types=_PLAIN, enc_hook=str)
    return str(value)
