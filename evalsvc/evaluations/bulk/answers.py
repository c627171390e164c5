"""A row of a batch's answer."""

from __future__ import annotations

import orjson

from evalsvc.evaluations.bulk.rows import BatchRow
from evalsvc.rest.problems import Problem, problem_body


def write_row(row: BatchRow) -> bytes:
    """Write a settled row: the single call's status and body, or the problem that it would have had."""
    source = row.twin or row
    if source.problem is not None:
        return _write_problem(row.index, source.problem)
    assert source.answer is not None  # noqa: S101  it is settled
    headers = source.answer.headers
    pause = headers.get("Retry-After")
    return orjson.dumps(
        {
            "index": row.index,
            "status": source.answer.status,
            "answer": orjson.Fragment(source.answer.body),
            "problem": None,
            "location": headers.get("Location"),
            "retry_after": None if pause is None else int(pause),
        }
    )


def _write_problem(index: int, problem: Problem) -> bytes:
    pause = problem.headers.get("Retry-After")
    return orjson.dumps(
        {
            "index": index,
            "status": problem.row.status,
            "answer": None,
            "problem": problem_body(problem),
            "location": None,
            "retry_after": None if pause is None else int(pause),
        }
    )
