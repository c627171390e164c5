"""What costs more than a request counts as several towards the account's limits."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from tests.calibrations.rows import labelled
from tests.conftest import Caller, new_caller
from tests.rest.shapes import assert_problem

REMAINING = "x-ratelimit-monthly-remaining-requests"


def left(caller: Caller) -> int:
    return int(caller.get("/v1/whoami").headers[REMAINING])


@pytest.mark.parametrize(
    ("path", "body", "n"),
    [
        ("/v1/evaluations/search", {}, 1),
        ("/v1/evaluations/search", {"limit": 1000}, 1),
        ("/v1/evaluations/search", {"limit": 1001}, 2),
        ("/v1/evaluations/search", {"limit": 10_000}, 10),
        ("/v1/evaluation-results/search", {"limit": None}, 1),
        ("/v1/evaluation-results/search", {"limit": 2500}, 3),
        ("/v1/annotations/search", {"limit": 10_000}, 10),
        ("/v1/calibrations", {"evaluator": "toxicity", "rows": labelled()}, 10),
    ],
)
def test_what_costs_more_counts_as_several_requests(path: str, body: dict[str, Any], n: int) -> None:
    caller = new_caller()
    before = left(caller)
    answer = caller.post(path, body)

    assert answer.status_code == 200, answer.content
    assert before - int(answer.headers[REMAINING]) == n


def test_a_page_beyond_the_limit_says_when_to_come_back() -> None:
    caller = new_caller()
    with override_settings(RPM_LIMIT=5):
        answer = caller.post("/v1/evaluations/search", {"limit": 10_000})
    problem = assert_problem(answer, "too_many_requests")

    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert "Retry-After" in problem["remedy"]
