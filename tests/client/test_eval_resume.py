"""`eval` after it was cut short, and through outages: what is recorded is not run again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalsvc.client import Client, NotFoundError, UnreachableError
from tests.client.bad_line import BadLine, answering, lost
from tests.client.capitals import CAPITALS, knows, run
from tests.conftest import CHECKOUT, Caller, wait_until


def test_a_stranger_cannot_go_on_with_it(client: Client, stranger: Client) -> None:
    result = run(client, knows)
    with pytest.raises(NotFoundError):
        stranger.resume(str(result.experiment_id), knows)


class Interrupting:
    """Is interrupted from the keyboard after some calls."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.calls: Counter[str] = Counter()

    def __call__(self, query: str) -> str:
        self.calls[query] += 1
        if sum(self.calls.values()) == self.after:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
        return CAPITALS.get(query, query)


MANY = [{"query": f"country {i}"} for i in range(40)]


def interrupted(client: Client, **options: Any) -> tuple[Interrupting, str, str]:
    """Return a runnable that was interrupted after 15 calls, and its experiment."""
    runnable = Interrupting(after=15)
    name = f"interrupted {id(runnable)}"
    expected = [one["query"] for one in MANY]
    with pytest.raises(KeyboardInterrupt):
        run(client, runnable, MANY, expected, name=name, threads=1, **options)
    (found,) = client.experiments_api.experiments(name)
    return runnable, name, found["id"]


def test_an_interrupted_evaluation_goes_on(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    runnable, _, experiment_id = interrupted(client)
    recorded = client.experiments_api.live(experiment_id)[0].configs[0].n_done  # type: ignore[union-attr]

    result = client.resume(experiment_id, runnable, progress=False, threads=1)

    assert f"client.resume('{experiment_id}', runnable)" in capsys.readouterr().err
    assert 0 < recorded < 40
    assert (result.state, len(result), result.metrics["exact-match"].value) == ("completed", 40, 1.0)
    assert [row.input for row in result] == MANY
    assert sum(runnable.calls.values()) <= 41


def test_it_is_found_by_its_name(client: Client) -> None:
    runnable, name, experiment_id = interrupted(client)
    expected = [one["query"] for one in MANY]

    result = run(client, runnable, MANY, expected, name=name, threads=1, resume=True)

    assert result.experiment_id == experiment_id
    assert len(result) == 40


def test_other_inputs_are_another_evaluation(client: Client) -> None:
    _, name, experiment_id = interrupted(client)
    result = run(client, knows, name=name, resume=True)

    assert result.experiment_id != experiment_id


def test_functions_of_metrics_are_given_again(client: Client) -> None:
    def length(input: Any, output: str, expected: Any) -> float:
        return len(output)

    runnable, _, experiment_id = interrupted(client, metrics={"length": length})
    with pytest.raises(ValueError, match="length"):
        client.resume(experiment_id, runnable, progress=False)

    result = client.resume(experiment_id, runnable, metrics={"length": length}, progress=False)
    assert result.metrics["length"].n == 40


KILLED = """
import sys, time
from evalsvc.client import Client

def slow(query):
    time.sleep(0.05)
    return query

inputs = [{"query": f"country {i}"} for i in range(60)]
client = Client()
client.eval(slow, inputs, [one["query"] for one in inputs], evaluators=["exact-match"], name=sys.argv[1],
            threads=2, lease_seconds=10)
"""


def test_it_survives_a_crash(client: Client, web: str, alice: Caller, tmp_path: Path) -> None:
    name = f"crash {tmp_path.name}"
    env = os.environ | {"EVALSVC_BASE_URL": web, "EVALSVC_API_KEY": alice.key}
    process = subprocess.Popen([sys.executable, "-c", KILLED, name], env=env, cwd=CHECKOUT, stderr=subprocess.DEVNULL)
    try:
        found = wait_until(lambda: list(client.experiments_api.experiments(name)))[0]
        wait_until(lambda: client.experiments_api.live(found["id"])[0].configs[0].n_done >= 10)  # type: ignore[union-attr]
    finally:
        process.kill()
        process.wait()
    recorded = {
        row["pos"]
        for row in client.experiments_api.results(
            found["id"], client.experiments_api.experiment(found["id"])["configs"][0]["id"]
        )
    }
    calls: Counter[str] = Counter()
    lock = threading.Lock()

    def again(query: str) -> str:
        with lock:
            calls[query] += 1
        return query

    result = client.resume(found["id"], again, progress=False)

    assert (len(result), result.metrics["exact-match"].value) == (60, 1.0)
    # What the dead process had sent may have been recorded after we looked.
    assert sum(calls.values()) <= 60 - len(recorded)
    assert set(calls.values()) <= {1}
    assert client._transport.get(f"/v1/experiments/{found['id']}/recount")["equal"]


def test_it_outlives_a_restart_of_the_service(web: str, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.client.service.transport.FIRST_PAUSE_SECONDS", 0.001)
    line = BadLine()
    with Client(web, alice.key, http_transport=line) as client:

        def restarting(query: str) -> str:
            if query == "Spain":
                line.before += [lost, answering(502), answering(503), lost, answering(500), lost]
            return CAPITALS[query]

        result = run(client, restarting, threads=1)

    assert (len(result), result.metrics["exact-match"].value) == (4, 1.0)


def test_a_service_that_stays_away_is_said_with_how_to_go_on(
    web: str, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsvc.client.service.transport.FIRST_PAUSE_SECONDS", 0.001)
    line = BadLine()
    with Client(web, alice.key, http_transport=line) as client, pytest.raises(UnreachableError) as caught:
        run(client, lambda query: line.before.extend([lost] * 100) or query, threads=1)

    assert "client.resume('" in caught.value.__notes__[0]


def test_leaving_the_loop_early_gives_the_work_back(client: Client) -> None:
    calls: Counter[str] = Counter()
    pause = 0.2

    def counted(query: str) -> str:
        calls[query] += 1
        time.sleep(pause)
        return query

    options: dict[str, Any] = {"evaluators": ["pii"], "progress": False, "threads": 1}
    for partial in client.eval_iter(counted, MANY, **options):
        if len(partial) >= 5:
            break
    assert partial.experiment_id is not None
    n_before, pause = sum(calls.values()), 0.0
    result = client.resume(partial.experiment_id, counted, progress=False, threads=1)

    assert n_before < 40
    assert (len(result), sum(calls.values())) == (40, 40)


def test_what_failed_is_tried_again_and_nothing_else(client: Client) -> None:
    calls: list[str] = []

    def flaky(query: str) -> str:
        calls.append(query)
        if query == "Spain" and calls.count("Spain") == 1:
            raise TimeoutError("no answer")
        return CAPITALS[query]

    first = run(client, flaky)
    assert (first.n_error, first.metrics["exact-match"].n_error) == (1, 1)
    assert client.experiments.retry(str(first.experiment_id), configs=["eval"]) == 1
    result = client.resume(str(first.experiment_id), flaky, progress=False)
    assert (result.n_error, result.metrics["exact-match"].value, calls.count("Spain"), len(calls)) == (0, 1.0, 2, 5)
