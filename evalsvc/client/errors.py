"""What can go wrong between this process and the service, each with what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, cast

import httpx


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one field of a request, by JSON pointer."""

    pointer: str
    detail: str


class ClientError(Exception):
    """Base class of all errors that this package raises on purpose; `str()` includes the cause and the remedy."""

    def __init__(
        self,
        detail: str,
        *,
        code: str = "client_error",
        remedy: str = "",
        status: int | None = None,
        errors: Sequence[FieldProblem] = (),
        request_id: str | None = None,
    ) -> None:
        self.detail = detail
        self.code = code
        self.remedy = remedy
        self.status = status
        self.errors = tuple(errors)
        self.request_id = request_id
        super().__init__(detail)

    def __str__(self) -> str:
        """Return the sentence, the fields it is about, the remedy and the id to give to the operator."""
        fields = "".join(f"\n  {error.pointer or '/'}: {error.detail}" for error in self.errors)
        request = f" [request {self.request_id}]" if self.request_id else ""
        remedy = f"\n  What to do: {self.remedy}" if self.remedy else ""
        return f"{self.detail} ({self.code}){request}{fields}{remedy}"


class ConfigurationError(ClientError):
    """The client does not know where the service is, or which key to use; or a package is missing."""


class UnreachableError(ClientError):
    """No answer came, also after retries."""


class ApiError(ClientError):
    """The service answered with a problem; see docs/errors.md for its code."""


class AuthenticationError(ApiError):
    """401: no valid API key."""


class ForbiddenError(ApiError):
    """403: the key may not do this."""


class NotFoundError(ApiError):
    """404: no such object in this key's account."""


class InvalidError(ApiError):
    """400, 409, 413, 415, 422: the request cannot be accepted as it is."""


class RateLimitError(ApiError):
    """429: the account's limit is reached, and waiting for it would take longer than this client waits."""


class ServerError(ApiError):
    """5xx: it broke on the service's side, also after retries."""


class ProblemFieldBody(TypedDict, total=False):
    """One of the `errors` of a problem."""

    pointer: str
    detail: str


class ProblemBody(TypedDict, total=False):
    """An error response of the service (RFC 9457)."""

    title: str
    detail: str
    code: str
    remedy: str
    errors: Sequence[ProblemFieldBody]
    request_id: str | None


BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidError,
    401: AuthenticationError,
    403: ForbiddenError,
    404: NotFoundError,
    409: InvalidError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
    429: RateLimitError,
}


def read_error(response: httpx.Response) -> ApiError:
    """Read a problem; a proxy's HTML in its place becomes an error with the status alone."""
    body = read_problem(response)
    status = response.status_code
    kind = BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    errors = [
        FieldProblem(str(error.get("pointer", "")), str(error.get("detail", ""))) for error in body.get("errors", [])
    ]
    return kind(
        str(body.get("detail") or body.get("title") or f"The service answered {status}."),
        code=str(body.get("code") or f"http_{status}"),
        remedy=str(body.get("remedy") or ""),
        status=status,
        errors=errors,
        request_id=body.get("request_id") or response.headers.get("X-Request-ID"),
    )


def read_problem(response: httpx.Response) -> ProblemBody:
    """Return the problem's members, or nothing when the body is not one."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return cast(ProblemBody, body) if isinstance(body, dict) else {}
