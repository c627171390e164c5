"""What cannot be read as a request is answered with a problem, as everything that reaches a view."""

from __future__ import annotations

from gunicorn.http import errors

from evalsvc.ops.serving.access import UNREAD, write_line
from evalsvc.ops.serving.pace import HEAD_SECONDS, awaited_bodies
from evalsvc.rest.basics.request_id import HEADER, begin_request_id
from evalsvc.rest.edge.policy import get_default_headers
from evalsvc.rest.problems import Problem, as_problem, problem_response

CODES: dict[type[Exception], str] = {
    errors.LimitRequestLine: "uri_too_long",
    errors.LimitRequestHeaders: "headers_too_large",
    errors.UnsupportedTransferCoding: "transfer_coding_unsupported",
    errors.ExpectationFailed: "expectation_failed",
}


def is_senders_fault(exc: BaseException) -> bool:
    """Return whether gunicorn could not read a request; an answer that it could not write is ours."""
    response_errors = (errors.InvalidResponseHeader, errors.InvalidResponseHeaderName, errors.ConfigurationProblem)
    return isinstance(exc, errors.ParseException) and not isinstance(exc, response_errors)


def as_refusal(exc: BaseException) -> Problem:
    """Return the problem for an exception of gunicorn.

    It repeats nothing of the request: a header might be an API key.
    """
    if not is_senders_fault(exc):
        return Problem()
    code = next((code for kind, code in CODES.items() if isinstance(exc, kind)), "bad_request")
    return Problem(code=code)


def head_too_slow() -> Problem:
    """Make the 408 for headers that did not come in time."""
    return Problem(f"The headers did not come within {HEAD_SECONDS:g} s.", code="request_timeout")


def too_many_bodies(account_id: int | None) -> bytes:
    """Write the 429 for an account whose further bodies are not awaited, as the last answer of a connection."""
    problem = as_problem(awaited_bodies.build_error())
    assert problem is not None  # noqa: S101  # nosec B101 - it is one of the exceptions that it knows
    return last_answer(problem, account_id)


def last_answer(problem: Problem, account_id: int | None = None) -> bytes:
    """Write a problem as the last answer of a connection."""
    request_id = begin_request_id(None)
    response = problem_response(problem)
    write_line("other", UNREAD, response.status_code, account=account_id, request_id=request_id)
    headers = {
        **response.headers,
        **get_default_headers(),
        HEADER: request_id,
        "Content-Length": str(len(response.content)),
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {response.status_code} {response.reason_phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + response.content
