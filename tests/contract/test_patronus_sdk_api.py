"""Every method of the API client within the package `patronus`, in both kinds, against a running service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import Caller
from tests.contract import sdk_label_exercises  # noqa: F401  it enters its exercises
from tests.contract.patronus_sdk import Api, connect, methods
from tests.contract.sdk_exercises import EXERCISES

pytestmark = pytest.mark.usefixtures("worker")


@pytest.fixture(params=["sync", "async"])
def api(request: pytest.FixtureRequest, web: str, alice: Caller) -> Iterator[Api]:
    """Alice's client."""
    with connect(request.param, web, alice.key) as one:
        yield one


def test_every_method_has_an_exercise() -> None:
    assert methods() == set(EXERCISES)


@pytest.mark.parametrize("name", sorted(methods()))
def test_it_answers(api: Api, name: str) -> None:
    EXERCISES[name](api)

    assert name in api.names
