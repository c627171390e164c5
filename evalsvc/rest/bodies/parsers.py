"""Bodies in: size, UTF-8, depth and forbidden characters are checked before anything reads a field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

import msgspec
from django.conf import settings
from django.http import HttpRequest
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from evalsvc.rest.bodies.located import locate_error
from evalsvc.rest.problems import FieldError, Invalid, Problem, escape

Body = TypeVar("Body")
MAX_DEPTH = 64
# PostgreSQL's bigint below, and what can be written as JSON again above.
SMALLEST, LARGEST = -(2**63), 2**64 - 1
_long_number = re.compile(rb"[0-9]{19}")


class JSONParser(BaseParser):
    """Parse an `application/json` body (any content type is read as JSON) for the ordinary serializers."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        """Return the decoded object, or raise a Problem."""
        request = (parser_context or {})["request"]
        body = read_body(request)
        data = decode(body, msgspec.json.Decoder())
        if not isinstance(data, dict):
            raise Invalid(FieldError("", "The body must be a JSON object."))
        return data


def read_body(request: Request | HttpRequest) -> bytes:
    """Return the body within the size limit, whether its length was announced or not."""
    http_request: HttpRequest = getattr(request, "_request", request)
    join_chunks(http_request)
    if content_length(http_request) > settings.MAX_BODY_BYTES:
        raise body_too_large()
    return http_request.body


def join_chunks(request: HttpRequest) -> None:
    """Read a chunked body, which Django ignores, and set CONTENT_LENGTH, so that it can be read as any other body."""
    chunked = "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()
    if not chunked or not request.META.get("wsgi.input_terminated") or "CONTENT_LENGTH" in request.META:
        return
    body = request.META["wsgi.input"].read(settings.MAX_BODY_BYTES + 1)
    if len(body) > settings.MAX_BODY_BYTES:
        raise body_too_large()
    request._body = body
    request.META["CONTENT_LENGTH"] = str(len(body))


def content_length(request: HttpRequest) -> int:
    """Return the announced length; 400 for one that is not a number."""
    text = request.META.get("CONTENT_LENGTH") or "0"
    if not text.isascii() or not text.isdigit():
        raise Problem("Content-Length is not a number.", code="bad_request")
    return int(text)


def body_too_large() -> Problem:
    """Make the 413."""
    return Problem(f"The body has more than {settings.MAX_BODY_BYTES} bytes.", code="body_too_large")


def decode(body: bytes, decoder: msgspec.json.Decoder[Body], *, storable: bool = True) -> Body:
    """Decode a body into the decoder's type; a wrong type is 422 with a pointer, broken JSON is 400.

    With `storable=False` the caller must refuse values that cannot be stored, for each part.
    """
    try:
        value = decoder.decode(body)
    except msgspec.ValidationError as exc:
        raise Invalid(locate_error(str(exc), body)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise Problem(f"The body is not valid JSON: {exc}.", code="malformed_json") from None
    except RecursionError:
        raise Problem("The body is nested too deeply.", code="malformed_json") from None
    if storable:
        refuse_unstorable(body)
    return value


def decode_noting_unknown(
    body: bytes, strict: msgspec.json.Decoder[Body], lenient: msgspec.json.Decoder[Body]
) -> tuple[Body, bool]:
    """Decode a body; return also whether it might contain unknown keys.

    `strict` forbids them, so that a body without any is decoded only once; `lenient` decodes the same type and ignores
    them.
    """
    try:
        value = strict.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return decode(body, lenient), True
    refuse_unstorable(body)
    return value, False


def list_body_keys(body: bytes) -> list[str]:
    """Return the top-level keys of a body that has been decoded to an object."""
    return list(_keys.decode(body))


_keys = msgspec.json.Decoder(dict[str, msgspec.Raw])


def refuse_unstorable(body: bytes) -> None:
    """Raise Invalid for a document that cannot be stored in the database."""
    if might_be_unstorable(body) and (errors := list(islice(find_unstorable(msgspec.json.decode(body)), 10))):
        raise Invalid(*errors)


def might_be_unstorable(body: bytes) -> bool:
    """Return whether a document is worth the walk of `find_unstorable`; nearly none is."""
    return bool(b"\\u0000" in body or body.count(b"[") + body.count(b"{") > MAX_DEPTH or _long_number.search(body))


def find_unstorable(document: object) -> Iterator[FieldError]:
    """Find NUL characters (PostgreSQL cannot store them), integers beyond 64 bits and nesting beyond MAX_DEPTH."""
    for pointer, value, depth in walk(document):
        if depth > MAX_DEPTH:
            yield FieldError(pointer, f"Nested deeper than {MAX_DEPTH} levels.")
            return
        if isinstance(value, str) and "\0" in value:
            yield FieldError(pointer, "Holds a NUL character, which cannot be stored.")
        elif isinstance(value, int) and not SMALLEST <= value <= LARGEST:
            yield FieldError(pointer, "An integer has at most 64 bits.")


def walk(value: object, pointer: str = "", depth: int = 0) -> Iterator[tuple[str, Any, int]]:
    """Yield every value and every key of a document with its JSON pointer and depth, without recursion."""
    stack = [(value, pointer, depth)]
    while stack:
        value, pointer, depth = stack.pop()
        yield pointer, value, depth
        if depth > MAX_DEPTH:
            continue
        if isinstance(value, dict):
            for key, part in value.items():
                yield f"{pointer}/{escape(key)}", key, depth
                stack.append((part, f"{pointer}/{escape(key)}", depth + 1))
        elif isinstance(value, list):
            stack.extend((part, f"{pointer}/{i}", depth + 1) for i, part in enumerate(value))
