"""What every problem looks like, for the tests of all routes."""

from __future__ import annotations

from typing import Any

from django.urls import resolve

from evalsvc.codes import PROBLEMS

KEYS = {"type", "title", "status", "detail", "code", "errors", "request_id", "remedy"}


def assert_problem(response: Any, code: str, pointer: str | None = None) -> dict[str, Any]:
    """Hold an answer to the shape of RFC 9457 as this service writes it; return the body."""
    row = PROBLEMS[code]
    assert response.status_code == row.status, response.content[:500]
    assert response["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert set(problem) == KEYS
    assert (problem["status"], problem["code"], problem["title"]) == (row.status, code, row.title)
    assert problem["type"] == f"/docs/errors#{code}"
    assert problem["detail"]
    assert problem["remedy"] == row.remedy
    assert problem["request_id"] == response["X-Request-ID"]
    assert all(set(error) == {"pointer", "detail"} and error["detail"] for error in problem["errors"])
    if pointer is not None:
        assert pointer in [error["pointer"] for error in problem["errors"]], problem["errors"]
    return problem


def view_of(path: str) -> Any:
    """Return the class of the view that answers at an address."""
    found: Any = resolve(path).func
    return found.view_class
