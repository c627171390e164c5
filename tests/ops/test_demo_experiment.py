"""`make demo-experiment`, small: it ends with the truth, and leaves nothing behind, interrupted or not."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.conftest import CHECKOUT, alive, stop_group, wait_until

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow]

COMMAND = [sys.executable, "-u", "-m", "benchmarks.demo_experiment", "--latency-ms", "1"]


@pytest.fixture
def started() -> Iterator[Any]:
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*COMMAND, *arguments], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        stop_group(process)  # type: ignore[arg-type]
        process.stdout.close()  # type: ignore[union-attr]


def children(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def assert_gone(processes: list[psutil.Process]) -> None:
    assert processes
    wait_until(lambda: not alive(processes))


def read_until(process: subprocess.Popen[str], words: str) -> list[str]:
    lines = []
    for line in process.stdout or ():
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError("".join(lines))


def test_it_ends_with_the_truth(started: Any) -> None:
    process = started("--configs", "3", "--examples", "30", "--policy", "manual")
    read_until(process, "watch it at")
    below = children(process)
    rest = process.stdout.read()

    assert process.wait(200) == 0, rest
    for words in (
        "queries              90 of 90",
        "best kept            yes",
        "books                equal to a recount",
    ):
        assert words in rest
    assert_gone(below)


def test_ctrl_c_leaves_nothing(started: Any) -> None:
    process = started("--configs", "3", "--examples", "2000", "--policy", "manual")
    read_until(process, "watch it at")
    below = children(process)

    process.send_signal(signal.SIGINT)

    assert "nothing is left" in process.communicate(timeout=200)[0]
    assert process.returncode == 130
    assert_gone(below)


def test_nonsense_is_refused_before_anything_starts() -> None:
    done = subprocess.run([*COMMAND, "--configs", "1"], cwd=CHECKOUT, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "2 to 100 configs" in done.stderr
