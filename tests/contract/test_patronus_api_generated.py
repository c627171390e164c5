"""Calls with the sample values of generated suites: answered in the client's shapes, or refused with a reason."""

from __future__ import annotations

import inspect
from operator import attrgetter
from typing import Any

import patronus_api
import pytest

from tests.contract.generated_calls import AS_SENT, of_what_is_there
from tests.contract.patronus_clients import Called, served_methods

REFUSALS = {
    404: {"not_found"},
    422: {"validation_failed", "filter_required"},
    501: {"not_implemented"},
}


def test_the_calls_are_of_every_method(client: Called) -> None:
    assert {name for name, _ in AS_SENT} == served_methods(client._target)


@pytest.mark.parametrize(("name", "sent"), AS_SENT, ids=[f"{name}-{len(sent)}" for name, sent in AS_SENT])
def test_sample_values_are_answered_or_refused_with_a_reason(client: Called, name: str, sent: dict[str, Any]) -> None:
    # What is not done here is no failure that passes: nothing is tried again.
    assert _answered(client, name, sent, REFUSALS) is not None


def test_what_is_there_is_answered(client: Called) -> None:
    n = 0
    for name, sent in of_what_is_there(client):
        n += 1
        assert _answered(client, name, sent, {}) == 200, name
        assert _answered(client, name, sent, {404: {"not_found"}}, raw=True) is not None, name
    assert n == 26


@pytest.mark.parametrize("size", [0, 1, 10_000])
def test_a_portion_of_any_size_deletes_all_that_is_meant(client: Called, size: int) -> None:
    log = "182bd5e5-6e1a-4fe4-a799-aa6d9a6ab26e"
    rows = [{"evaluator_id": "mine", "log_id": log, "app": "xx", "score": n} for n in range(3)]
    client.evaluations.batch_create(evaluations=rows)

    found: Any = client.evaluations.batch_delete(app="xx", batch_size=size)
    assert (found["n_deleted"], found["done"]) == (3, True)


@pytest.mark.parametrize("size", [-1, 10_001])
def test_a_portion_that_is_none_is_refused(client: Called, size: int) -> None:
    with pytest.raises(patronus_api.UnprocessableEntityError):
        client.evaluations.batch_delete(app="xx", batch_size=size)


def _answered(
    client: Called, name: str, sent: dict[str, Any], refusals: dict[int, set[str]], *, raw: bool = False
) -> int:
    """Call, and return the status; a refusal that is not among these fails. Also by the raw call, where asked."""
    place, _, method = name.rpartition(".")
    resource = attrgetter(place)(client)
    try:
        answer = getattr(resource.with_raw_response if raw else resource, method)(**sent)
    except patronus_api.APIStatusError as exc:
        assert exc.status_code in refusals, (name, exc.body)
        assert isinstance(exc.body, dict)
        assert exc.body["code"] in refusals[exc.status_code]
        assert exc.body["remedy"]
        return exc.status_code
    if raw and inspect.isawaitable(parsed := answer.parse()):
        client._run(parsed)
    return 200
