"""A benchmark ends at its deadline with what it has, and by a signal with its servers stopped."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import psutil
import pytest

from benchmarks.figures import Row, figure
from benchmarks.frame import OutOfTime, Report, ending_at, parser, run
from benchmarks.machine import Watch, cpu_seconds, machine


def options(deadline: float) -> argparse.Namespace:
    return parser("one", deadline=60).parse_args(["--tiny", "--deadline", str(deadline)])


def printed(capsys: pytest.CaptureFixture[str]) -> tuple[str, Any]:
    lines = capsys.readouterr().out.splitlines()
    return "\n".join(lines[:-1]), json.loads(lines[-1])


def test_it_prints_machine_load_table_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    def measure(options: argparse.Namespace, report: Report) -> None:
        report.add(Row("one", "ms", figure([1.0])))
        report.details["more"] = 1

    assert run("one", measure, options(60)) == 0

    text, found = printed(capsys)
    assert machine() in text
    assert "load average" in text
    assert "by others" in text
    assert (found["benchmark"], found["was_cut"], found["tiny"], found["more"]) == ("one", False, True, 1)
    assert [row["name"] for row in found["rows"]] == ["one"]


def test_one_that_hangs_ends_at_its_deadline_with_what_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    ended = threading.Event()

    def measure(options: argparse.Namespace, report: Report) -> None:
        report.add(Row("before", "ms", figure([1.0])))
        try:
            threading.Event().wait()
        except Exception as exc:  # such as catches all that happens to it
            raise AssertionError from exc
        finally:
            ended.set()

    assert run("hangs", measure, options(0.2)) == 0

    text, found = printed(capsys)
    assert ended.is_set()
    assert "ended at its deadline of 0.2 s, with what it had: 1 rows" in text
    assert found["was_cut"]
    assert [row["name"] for row in found["rows"]] == ["before"]


def test_one_that_breaks_does_not_look_like_one_that_measured() -> None:
    def measure(options: argparse.Namespace, report: Report) -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        run("breaks", measure, options(60))


def test_a_term_signal_ends_the_block_like_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt), ending_at(60):
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(60)


def test_the_timer_of_who_waits_outside_is_kept() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(OutOfTime), ending_at(100), ending_at(0.05):
        threading.Event().wait(60)
    assert signal.getsignal(signal.SIGALRM) == before


def test_cpu_time_is_counted_with_children_that_have_ended() -> None:
    code = "import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', sys.argv[1]])\ninput()"
    # The kernel cuts each of its times off at a hundredth of a second: what is told may be less than was worked.
    work = "import time\nwhile time.process_time() < 0.7: pass"
    with subprocess.Popen([sys.executable, "-c", code, work], stdin=subprocess.PIPE) as process:
        root = psutil.Process(process.pid)
        ends_at = time.monotonic() + 100
        while cpu_seconds(root) < 0.5 or root.children():
            assert time.monotonic() < ends_at
            time.sleep(0.02)
        assert cpu_seconds(root) >= 0.5
        process.communicate(b"\n")
    assert cpu_seconds(root) == 0


def test_load_says_what_is_ours() -> None:
    watch, began = Watch(), time.process_time()
    while time.process_time() < began + 0.3:
        pass
    load = watch.seen()

    assert load.ours * load.seconds >= 0.25
    assert load.others >= 0
    assert set(load.as_json()) == {"seconds", "load_average", "ours", "others", "stolen", "pressure"}
