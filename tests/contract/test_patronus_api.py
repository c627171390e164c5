"""Every method of `patronus-api` against a running service, every answer validated strictly by the client."""

from __future__ import annotations

import patronus_api
import pytest

from tests.contract import (
    patronus_exercises,
    patronus_insight_exercises,
    patronus_more_exercises,
    patronus_prompt_exercises,
)
from tests.contract.patronus_clients import Called, served_methods

EXERCISES = patronus_exercises.EXERCISES
for module in (patronus_insight_exercises, patronus_more_exercises, patronus_prompt_exercises):
    assert module.__doc__, "imported for what it enters"


def test_every_method_has_an_exercise(client: Called) -> None:
    assert served_methods(client._target) == set(EXERCISES)


@pytest.mark.parametrize("name", sorted(served_methods(patronus_api.PatronusAPI(api_key="none"))))
def test_it_answers(client: Called, name: str) -> None:
    EXERCISES[name](client)

    assert name in client.names
