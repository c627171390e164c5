"""Gates that are asked at one moment: a candidate on a benchmark is counted once, whatever number they name."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from evalsvc.gates import services
from evalsvc.gates.rules import evaluate_rules
from tests.conftest import Caller
from tests.gates.shapes import against, answers, finished

NOT_WORSE = {"metric": "accuracy", "not_worse_by": 0.1}


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each of two gates have read what there is before the other writes, where nothing keeps them apart."""
    both = threading.Barrier(2)

    def weighed(*args: Any, **more: Any) -> Any:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.7)
        return evaluate_rules(*args, **more)

    monkeypatch.setattr(services, "evaluate_rules", weighed)


@pytest.mark.usefixtures("together")
def test_a_candidate_with_two_numbers_at_once_has_one(alice: Caller) -> None:
    made = finished(alice, 20, answers(set()), answers({1}))

    def asked(attempt: int) -> int:
        body = {**against(made), "rules": [NOT_WORSE], "benchmark": "b", "attempt": attempt}
        return int(alice.post("/v1/gates", body).status_code)

    with ThreadPoolExecutor(2) as pool:
        statuses = sorted(pool.map(asked, (3, 5)))

    assert statuses == [200, 422]
