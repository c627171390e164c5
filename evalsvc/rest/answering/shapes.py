"""Responses as structs: one type defines a response, serializes it, and describes it in the OpenAPI document."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from drf_spectacular.utils import OpenApiResponse

_described: dict[str, type[msgspec.Struct]] = {}
# Left to the JSON encoder, which serializes them itself.
_PLAIN = (datetime, uuid.UUID)
Json: TypeAlias = Any
"""Anything that JSON can say, as the caller has sent it."""
Moment: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its offset. msgspec describes a `datetime` that may lack one as a mere text."""
WrittenMoment: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""The same as text, as JSON columns have it."""
ADDRESS = "#/components/schemas/{name}"


class AnswerShape(msgspec.Struct, kw_only=True, frozen=True):
    """A part of an answer. A key may only be left out where its default is UNSET."""


class KeyWarning(AnswerShape):
    """A key that nothing reads, or an input of the wrong type."""

    pointer: str
    detail: str
    did_you_mean: list[str]


class AnswerWithWarnings(AnswerShape, kw_only=True):
    """An answer that may tell, after all else, what nothing has read of its request."""

    warnings: Annotated[
        list[KeyWarning] | msgspec.UnsetType, msgspec.Meta(description="Only where there is something to say.")
    ] = msgspec.UNSET


Shape = TypeVar("Shape", bound=AnswerShape)


def build_shape(row: object, shape: type[Shape], /, **others: object) -> Shape:
    """Return the shape of a row: `others`, and what the row has under the names of all other required keys."""
    return shape(**{name: getattr(row, name) for name in _required(shape) if name not in others}, **others)


@cache
def _required(shape: type[AnswerShape]) -> tuple[str, ...]:
    return tuple(field.name for field in msgspec.structs.fields(shape) if field.required)


def build_enum(words: Iterable[str]) -> msgspec.Meta:
    """Return the OpenAPI metadata of a text that is one of these words."""
    return msgspec.Meta(extra_json_schema={"enum": [str(word) for word in words]})


def answers_with(shape: type[msgspec.Struct], description: str = "") -> dict[Any, Any]:
    """Return the `responses` argument of `extend_schema` for a 200 with this body."""
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
