"""A retry that arrives in another process while its first try is scored: both are one evaluation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.conftest import Caller, scores_of
from tests.serving import serving

N_CALLS = 100
# Takes long enough to score that the retry arrives meanwhile.
EVALUATORS = [{"evaluator": "exact-match"}, {"evaluator": "exact-match-normalised"}]
TEXT = "The capital of France is Paris. " * 200


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[httpx.Client]]:
    """Clients of two web processes of one service."""
    folder = tmp_path_factory.mktemp("web")
    with (
        serving(folder / "first.log") as first,
        serving(folder / "second.log") as second,
        httpx.Client(base_url=first, timeout=100) as client,
        httpx.Client(base_url=second, timeout=100) as other,
    ):
        yield [client, other]


@pytest.mark.parametrize("log_id", [None, "6f0f1f5e"], ids=["plain", "named"])
def test_a_retry_just_behind_its_first_try_counts_once(
    alice: Caller, clients: list[httpx.Client], log_id: str | None
) -> None:
    def send(body: dict[str, Any], n_retries: int) -> str:
        time.sleep(int(body["tags"]["delay"]) / 1000 * n_retries)
        headers = {"X-API-KEY": alice.key, "X-Stainless-Retry-Count": f"{n_retries}"}
        response = clients[n_retries].post("/v1/evaluate", json=body, headers=headers).raise_for_status()
        return str(response.json()["id"])

    with ThreadPoolExecutor(2) as pool:
        for place in range(N_CALLS):
            body: dict[str, Any] = {"evaluators": EVALUATORS, "app": "shop", "output": f"{place} {TEXT}", "label": TEXT}
            body |= {"log_id": log_id, "tags": {"delay": f"{1 + place % 20}"}}
            tries = [pool.submit(send, body, n_retries) for n_retries in (0, 1)]
            assert len({response.result() for response in tries}) == 1, place

    assert len(scores_of(alice, "exact-match")) == N_CALLS * len(EVALUATORS)
