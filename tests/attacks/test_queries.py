"""Numbers that are none, in queries: a clear refusal, never a broken answer."""

from __future__ import annotations

import pytest

from tests.conftest import Caller, new_caller
from tests.experiments.shapes import Filled, filled_experiment

NUMBERS = ("nan", "inf", "-inf", "1e400")


@pytest.fixture(scope="module")
def filled() -> tuple[Caller, Filled]:
    caller = new_caller(name="queries")
    return caller, filled_experiment(caller)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "path",
    [
        "/v1/history?evaluator=exact-match&level={number}",
        "/v1/history?evaluator=exact-match&since.scores={number}",
        "/v1/experiments/{id}/confusion?config={config}&level={number}",
        "/v1/experiments/{id}/confusion?config={config}&seed={number}",
        "/v1/experiments/{id}/pareto?metrics=accuracy,passes&level={number}",
        "/v1/experiments/{id}/aggregates?by=metadata.topic&config={config}&max_slices={number}",
        "/v1/compare?a={config}&b={config}&limit={number}",
        "/v1/experiments?metadata=k:{number}",
        '/v1/experiments?metadata={{"k":{number}}}',
    ],
)
def test_what_is_no_number_is_refused(filled: tuple[Caller, Filled], path: str, number: str) -> None:
    caller, made = filled
    answer = caller.get(path.format(number=number, id=made.id, config=made.configs[0]))
    # `k:nan` asks for a text; everything else is a mistake.
    assert answer.status_code in ((200, 422) if "metadata=k:" in path else (422,)), answer.content
