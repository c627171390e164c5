"""RFC 9457 problems: the one place where an error becomes an answer."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

import orjson
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.urls import Resolver404
from psycopg_pool import PoolTimeout
from redis.exceptions import RedisError
from rest_framework import exceptions as drf

from evalsvc.problems import FieldError, Invalid, NotFound, Problem, escape
from evalsvc.rest.basics.body_errors import BodyFailed, TooManyBodies
from evalsvc.rest.basics.request_id import current_request_id
from evalsvc.rest.basics.routes import path_hint
from evalsvc.tenancy.outages import explain_outage

log = logging.getLogger(__name__)
CONTENT_TYPE = "application/problem+json"
OPENAI_PREFIXES = ("/v1/evals", "/v1/files", "/v1/fine_tuning")
"""Addresses of OpenAI's API, where its clients read its own form of errors."""
OPENAI_CODES = {
    "unauthenticated": "invalid_api_key",
    "validation_failed": "invalid_value",
    "rate_limited": "rate_limit_exceeded",
    "too_many_requests": "rate_limit_exceeded",
}
__all__ = ("CONTENT_TYPE", "FieldError", "Invalid", "NotFound", "Problem", "as_problem", "escape")


def problem_body(problem: Problem) -> dict[str, Any]:
    """Return the members of a problem's answer."""
    row = problem.row
    return {
        "type": f"/docs/errors#{row.code}",
        "title": row.title,
        "status": row.status,
        "detail": problem.detail,
        "code": row.code,
        "errors": [{"pointer": error.pointer, "detail": error.detail} for error in problem.errors],
        "request_id": current_request_id(),
        "remedy": row.remedy,
    }


def problem_response(problem: Problem) -> HttpResponse:
    """Write a problem as an HTTP answer."""
    response = HttpResponse(orjson.dumps(problem_body(problem)), status=problem.row.status, content_type=CONTENT_TYPE)
    for name, value in problem.headers.items():
        response[name] = value
    return response


def to_param(pointer: str) -> str | None:
    """Return a JSON pointer as OpenAI's errors name a field: `testing_criteria[0].operation`."""
    param = ""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        param += f"[{name}]" if name.isdigit() else f".{name}" if param else name
    return param or None


def openai_response(problem: Problem) -> HttpResponse:
    """Write a problem as an error of OpenAI's API."""
    status = 400 if problem.row.status == 422 else problem.row.status
    error = {
        "message": problem.detail,
        "type": "server_error" if status >= 500 else "invalid_request_error",
        "param": to_param(problem.errors[0].pointer) if problem.errors else None,
        "code": OPENAI_CODES.get(problem.code, problem.code),
    }
    response = HttpResponse(orjson.dumps({"error": error}), status=status, content_type="application/json")
    for name, value in problem.headers.items():
        response[name] = value
    return response


def refuse(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Write a problem in the form that the clients of an address read."""
    is_openai = any(
        request.path_info == prefix or request.path_info.startswith(f"{prefix}/") for prefix in OPENAI_PREFIXES
    )
    return openai_response(problem) if is_openai else problem_response(problem)


def as_problem(exc: BaseException) -> Problem | None:
    """Translate what Django, DRF and the databases raise; None when it is a bug of ours."""
    match exc:
        case Problem():
            return exc
        case drf.NotAuthenticated() | drf.AuthenticationFailed():
            return Problem(
                str(exc.detail), code="unauthenticated", headers={"WWW-Authenticate": 'Bearer realm="evalsvc"'}
            )
        case drf.ValidationError():
            return Invalid(*field_errors(exc.detail))
        case drf.ParseError():
            return Problem(str(exc.detail), code="malformed_json")
        case drf.MethodNotAllowed():
            return Problem(str(exc.detail), code="method_not_allowed")
        case drf.UnsupportedMediaType():
            return Problem(str(exc.detail), code="unsupported_media_type")
        case RequestDataTooBig():
            return Problem(code="body_too_large")
        case TooManyBodies():
            return Problem(str(exc), code=exc.code, headers={"Retry-After": str(exc.retry_after_seconds)})
        case BodyFailed():
            return Problem(str(exc), code=exc.code)
        case UnreadablePostError():
            return as_problem(exc.__cause__) if exc.__cause__ else Problem("The body ends early.", code="bad_request")
        case drf.PermissionDenied() | PermissionDenied():
            return Problem(code="forbidden")
        case drf.NotFound() | Http404():
            return NotFound()
        case SuspiciousOperation() | UnicodeDecodeError():
            return Problem(code="bad_request")
        case OperationalError() | InterfaceError() | PoolTimeout() | RedisError():
            log.warning("service unavailable", exc_info=exc)
            return Problem(explain_outage(exc), code="unavailable", headers={"Retry-After": "2"})
    return None


def field_errors(detail: object, pointer: str = "") -> list[FieldError]:
    """Flatten DRF's nested error detail into pointers and sentences."""
    if isinstance(detail, Mapping):
        return [
            error
            for name, part in detail.items()
            for error in field_errors(part, pointer if name == "non_field_errors" else f"{pointer}/{escape(str(name))}")
        ]
    if isinstance(detail, list):
        if all(isinstance(part, str) for part in detail):
            return [FieldError(pointer, str(part)) for part in detail]
        return [error for i, part in enumerate(detail) for error in field_errors(part, f"{pointer}/{i}")]
    return [FieldError(pointer, str(detail))]


def exception_handler(exc: Exception, context: Mapping[str, object]) -> HttpResponse | None:
    """DRF's hook: a problem for what we know; a logged `internal_error` for what we do not."""
    problem = as_problem(exc)
    if problem is None:
        log.error("unhandled exception", exc_info=exc)
        problem = Problem()
    return problem_response(problem)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400."""
    return refuse(request, as_problem(exception) or Problem(code="bad_request"))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler403."""
    return refuse(request, Problem(code="forbidden"))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler404. An unknown path gets a hint to the nearest route; an invalid id is reported as missing."""
    if isinstance(exception, Resolver404) and request.path.startswith("/v1/"):
        return refuse(request, NotFound(path_hint(request.path)))
    return refuse(request, NotFound())


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500: what middleware raises comes here too, so a database that is away is told from a bug."""
    exc = sys.exception()
    return refuse(request, (as_problem(exc) if exc else None) or Problem())
