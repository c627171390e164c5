"""Bodies in: size, UTF-8, depth and forbidden characters are checked before anything reads a field."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, TypeVar

import msgspec
from django.conf import settings
from django.http import HttpRequest
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from evalsvc.documents import find_unstorable, might_be_unstorable
from evalsvc.rest.bodies.located import locate_error
from evalsvc.rest.problems import FieldError, Invalid, Problem

Body = TypeVar("Body")


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
