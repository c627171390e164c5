"""kill -9 of the judges' runner at its fullest, in an outage too: nothing is lost, and nothing counts twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.conftest import findings, scores_of, start_worker, stop_group, wait_until
from tests.judges.asking import Judge
from tests.judges.outages import Endpoint, running_endpoint
from tests.judges.working import accept, profile, rows_of
from tests.preloaded import Child

N = 240


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint() as running_one:
        yield running_one


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_away", [False, True], ids=["answers", "is away"])
def test_a_killed_runner_loses_nothing_and_counts_nothing_twice(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, is_away: bool
) -> None:
    monkeypatch.setenv("EVALSVC_WORK_LEASE_SECONDS", "3")
    judge = Judge(endpoint, model="stub-judge-pass@1500")  # type: ignore[arg-type]
    names = [profile(judge.caller, pass_criteria=f"The MODEL OUTPUT has fault {i}.") for i in range(10)]
    for _ in range(N // 10):
        accept(judge.caller, *names)
    rows = rows_of(judge.caller)
    if is_away:
        endpoint.fail()
    worker = start_judges()
    try:
        if is_away:
            wait_until(lambda: rows.filter(status="pending", error_code="connection").count() > N / 2)
        else:
            wait_until(lambda: endpoint.stub.active > N / 2)
    finally:
        stop_group(worker)
    endpoint.recover()
    worker = start_judges()
    try:
        wait_until(lambda: not rows.filter(status="pending").exists())
    finally:
        stop_group(worker)

    assert Counter(rows.values_list("status", "error_code")) == {("success", None): N}
    found = scores_of(judge.caller, "judge")
    assert len(found) == len({source for _, _, source in found}) == N
    assert findings(judge.caller) == {}


def start_judges() -> Child:
    return start_worker("judge", pool="threads")
