"""The supervisor: crash and restart, giving up with the reason, and leaving nothing behind."""

import contextlib
import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import evalsvc
from evalsvc.local import disk
from evalsvc.local.process import Command
from evalsvc.local.supervisor.children import child as child_module
from evalsvc.local.supervisor.children.child import Child, ChildSpec, rotate
from evalsvc.local.supervisor.lock import AlreadyRunning, hold_home
from evalsvc.local.supervisor.supervisor import ServiceFailed, StopRequested, Supervisor

CHECKOUT = Path(evalsvc.__file__).parents[1]
SLEEP = "import time; time.sleep(600)"
# A child that ignores SIGTERM, with a grandchild in a session of its own: neither stops by being asked.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(grandchild.pid, flush=True)
time.sleep(600)
"""


def spec(name: str, code: str, **options: object) -> ChildSpec:
    command = Command([sys.executable, "-c", code], env=dict(os.environ))
    return ChildSpec(name, lambda: command, **options)  # type: ignore[arg-type]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(tmp_path: Path, said: list[str]) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "logs", report=said.append) as running:
        yield running


def pid_of(child: Child) -> int:
    assert child.process is not None
    return child.process.pid


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def eventually(condition: Callable[[], bool], tick: Callable[[], None] = lambda: time.sleep(0.05)) -> None:
    deadline = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        tick()


def printed_pid(child: Child) -> int:
    eventually(lambda: child.log.exists() and child.log.read_text().endswith("\n"))
    return int(child.log.read_text())


def test_a_crashed_child_is_started_again(supervisor: Supervisor, said: list[str]) -> None:
    child = supervisor.add(spec("worker", SLEEP))
    first = pid_of(child)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: child.process is not None and child.process.pid != first, supervisor.tick)
    assert is_running(pid_of(child))
    assert "worker stopped with signal 9 (SIGKILL); starting it again" in said[0]


def test_the_others_go_on_when_one_crashes(supervisor: Supervisor) -> None:
    steady, shaky = supervisor.add(spec("steady", SLEEP)), supervisor.add(spec("shaky", SLEEP))
    before, first = pid_of(steady), pid_of(shaky)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: shaky.process is not None and shaky.process.pid != first, supervisor.tick)
    assert pid_of(steady) == before
    assert is_running(before)


def test_a_child_that_keeps_crashing_stops_the_service_with_the_reason(supervisor: Supervisor) -> None:
    supervisor.add(spec("web", "print('cannot read the key'); raise SystemExit(3)", max_crashes=2))
    with pytest.raises(ServiceFailed) as failure:
        supervisor.watch()
    assert "web stopped with exit code 3, for the 3th time within a minute" in str(failure.value)
    assert "cannot read the key" in str(failure.value)


@pytest.mark.parametrize("options", [{"max_crashes": None}, {"max_crashes": 1, "explain_crash": lambda: "full"}])
def test_a_server_or_a_crash_with_a_reason_outside_is_started_again_without_end(
    supervisor: Supervisor, said: list[str], monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(child_module, "LONGEST_DELAY_SECONDS", 0.05)
    child = supervisor.add(spec("postgres", "raise SystemExit(3)", **options))
    eventually(lambda: len(child.crashes) > 6, supervisor.tick)
    assert len(said) == child_module.MAX_REPORTS


def test_the_pauses_between_starts_have_a_limit(tmp_path: Path) -> None:
    child = Child(spec("postgres", SLEEP, max_crashes=None), tmp_path / "log")
    delays = [child.record_crash() for _ in range(8)]
    assert delays == pytest.approx([0.1, 0.3, 0.9, 2.7, 8.1, 10, 10, 10])


def test_crashes_on_a_full_disk_do_not_count_once_there_is_room(tmp_path: Path) -> None:
    reasons = ["full"] * 6 + [""] * 3
    child = Child(spec("web", SLEEP, max_crashes=2, explain_crash=lambda: reasons.pop(0)), tmp_path / "log")
    assert None not in [child.record_crash() for _ in range(8)]
    assert child.record_crash() is None


def test_a_server_whose_folder_cannot_be_written_is_tried_again(supervisor: Supervisor, said: list[str]) -> None:
    def fail() -> Command:
        raise OSError(errno.ENOSPC, "No space left on device")

    child = supervisor.add(spec("postgres", SLEEP, max_crashes=None))
    child.spec = dataclasses.replace(child.spec, command=fail)
    os.kill(pid_of(child), signal.SIGKILL)
    eventually(lambda: len(child.crashes) > 1, supervisor.tick)
    assert "postgres cannot be started: [Errno 28] No space left on device" in said[1]


def test_a_service_that_gives_up_on_a_full_disk_is_started_again(supervisor: Supervisor, said: list[str]) -> None:
    supervisor.add(spec("service", "raise SystemExit(3)", gives_up_with=3, explain_crash=lambda: "full"))
    eventually(lambda: len(said) > 1, supervisor.tick)
    assert "service stopped with exit code 3; starting it again" in said[0]


def test_a_report_that_cannot_be_written_does_not_end_the_service(tmp_path: Path) -> None:
    def fail(line: str) -> None:
        raise OSError(errno.ENOSPC, line)

    with Supervisor(tmp_path / "logs", report=fail) as supervisor:
        child = supervisor.add(spec("worker", SLEEP))
        first = pid_of(child)
        os.kill(first, signal.SIGKILL)
        eventually(lambda: child.process is not None and child.process.pid != first, supervisor.tick)


def test_a_full_disk_is_reported_once_and_takes_the_ballast(
    supervisor: Supervisor, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [8 * disk.BALLAST_BYTES]
    monkeypatch.setattr(disk, "_free", lambda home: free[0])
    disk.reserve_ballast(tmp_path)
    assert (tmp_path / disk.BALLAST).stat().st_blocks * 512 >= disk.BALLAST_BYTES
    supervisor.checks.append(disk.DiskWatch(tmp_path, supervisor.report).check)
    supervisor.check()
    assert said == []
    for free[0] in (disk.FULL_BYTES - 1, disk.BALLAST_BYTES, 0):
        supervisor.check()
    assert said == [disk.explain_shortage(tmp_path)]
    assert "Make room there" in said[0]
    assert not (tmp_path / disk.BALLAST).exists()
    free[0] = 8 * disk.BALLAST_BYTES
    supervisor.check()
    supervisor.check()
    assert said[1:] == [f"The disk with {tmp_path} has room again."]
    assert (tmp_path / disk.BALLAST).exists()


def test_what_fails_at_the_start_is_not_tried_again(supervisor: Supervisor, said: list[str]) -> None:
    child = supervisor.add(spec("web", "print('port in use'); raise SystemExit(1)", is_ready=lambda: False))
    with pytest.raises(ServiceFailed, match="port in use"):
        supervisor.wait_ready(child)
    assert said == []


def test_a_child_that_is_never_ready_is_given_up(supervisor: Supervisor) -> None:
    child = supervisor.add(spec("web", SLEEP, is_ready=lambda: False))
    with pytest.raises(ServiceFailed, match="not ready after 0 s"):
        supervisor.wait_ready(child, timeout=0.3)


def test_the_grandchildren_of_a_crashed_child_do_not_stay(supervisor: Supervisor) -> None:
    child = supervisor.add(spec("worker", STUBBORN))
    grandchild = printed_pid(child)
    first = pid_of(child)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: child.process is not None and child.process.pid != first, supervisor.tick)
    assert not is_running(grandchild)


def test_the_stages_stop_in_reverse_order(supervisor: Supervisor, tmp_path: Path) -> None:
    order = tmp_path / "order"
    code = f"""
import pathlib, signal, sys, time
def stop(*_):
    with open({str(order)!r}, "a") as stream:
        stream.write(sys.argv[1] + "\\n")
    sys.exit()
signal.signal(signal.SIGTERM, stop)
pathlib.Path({str(tmp_path)!r}, sys.argv[1]).touch()
time.sleep(600)
"""
    for stage, name in enumerate(["postgres", "valkey", "beat", "web"]):
        command = Command([sys.executable, "-c", code, name], env=dict(os.environ))
        ready = (tmp_path / name).exists
        supervisor.wait_ready(supervisor.add(ChildSpec(name, lambda command=command: command, ready, stage)))
    supervisor.stop()
    assert order.read_text().split() == ["web", "beat", "valkey", "postgres"]


def test_stragglers_are_killed_with_their_grandchildren(supervisor: Supervisor, said: list[str]) -> None:
    child = supervisor.add(spec("worker", STUBBORN, stop_timeout=0.5))
    grandchild, pid = printed_pid(child), pid_of(child)
    supervisor.stop()
    assert not is_running(pid)
    assert not is_running(grandchild)
    assert "did not stop within" in said[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_to_stop(supervisor: Supervisor, number: signal.Signals) -> None:
    supervisor.add(spec("web", SLEEP))
    os.kill(os.getpid(), number)
    with pytest.raises(StopRequested):
        supervisor.watch()


def test_a_step_gives_back_what_it_printed(supervisor: Supervisor) -> None:
    command = Command(
        [sys.executable, "-c", "import sys; print('{}'); print('log', file=sys.stderr)"], dict(os.environ)
    )
    assert supervisor.run_step("migrate", command) == "{}\n"
    assert (supervisor.logs / "migrate.log").read_text() == "log\n"


def test_a_step_that_fails_shows_its_errors(supervisor: Supervisor) -> None:
    command = Command([sys.executable, "-c", "raise SystemExit('no such column')"], dict(os.environ))
    with pytest.raises(ServiceFailed, match="migrate failed with exit code 1:\nno such column"):
        supervisor.run_step("migrate", command)


def test_a_signal_ends_a_step(supervisor: Supervisor) -> None:
    before = psutil.Process().children()
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(StopRequested):
        supervisor.run_step("migrate", Command([sys.executable, "-c", SLEEP], dict(os.environ)))
    assert [child for child in psutil.Process().children() if child not in before] == []


def test_what_ran_before_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEP]) as earlier:
        with Supervisor(tmp_path / "logs", report=print) as supervisor:
            child = supervisor.add(spec("worker", SLEEP))
            os.kill(pid_of(child), signal.SIGKILL)
            eventually(lambda: bool(child.crashes), supervisor.tick)
        assert earlier.poll() is None
        earlier.kill()


def test_a_program_that_does_not_exist_says_so(supervisor: Supervisor) -> None:
    child = supervisor.add(ChildSpec("web", lambda: Command(["/no/such/program"], dict(os.environ)), lambda: False))
    with pytest.raises(ServiceFailed, match="/no/such/program: No such file or directory"):
        supervisor.wait_ready(child)


SUPERVISE = """
import os, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from evalsvc.local.supervisor.supervisor import StopRequested, Supervisor
from test_up_supervisor import STUBBORN, printed_pid, spec, pid_of
with Supervisor(Path(sys.argv[1])) as supervisor:
    child = supervisor.add(spec("worker", STUBBORN, stop_timeout=1))
    print(printed_pid(child), pid_of(child), flush=True)
    try:
        supervisor.watch()
    except StopRequested:
        pass
"""


@pytest.fixture
def other_process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    code = textwrap.dedent(SUPERVISE).format(tests=str(Path(__file__).parent))
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "logs")], env=environment, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_sigterm_leaves_no_process(other_process: subprocess.Popen[str]) -> None:
    assert other_process.stdout is not None
    pids = [int(pid) for pid in other_process.stdout.readline().split()]
    other_process.terminate()
    assert other_process.wait(100) == 0
    assert [pid for pid in pids if is_running(pid)] == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the kernel's parent-death signal")
def test_kill_9_of_the_supervisor_takes_the_children_with_it(other_process: subprocess.Popen[str]) -> None:
    assert other_process.stdout is not None
    grandchild, pid = (int(pid) for pid in other_process.stdout.readline().split())
    other_process.kill()
    eventually(lambda: not is_running(pid))
    # Of a grandchild only its own parent can take care: gunicorn's and Celery's do.
    with contextlib.suppress(ProcessLookupError):
        os.kill(grandchild, signal.SIGKILL)


def test_a_second_service_of_a_home_is_refused_with_the_address(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with hold_home(tmp_path) as lock:
        lock.announce("http://127.0.0.1:8123")
        with pytest.raises(AlreadyRunning, match=r"runs at http://127\.0\.0\.1:8123"), hold_home(tmp_path):
            pass
    with hold_home(tmp_path):
        assert json.loads((tmp_path / "run" / "lock").read_text())["url"] == ""


def test_a_large_log_is_rotated_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "MAX_LOG_BYTES", 10)
    log = tmp_path / "web.log"
    for number in range(6):
        log.write_text(f"run number {number}")
        rotate(log)
    kept = {path.name: path.read_text()[-1] for path in tmp_path.iterdir()}
    assert kept == {"web.log.1": "5", "web.log.2": "4", "web.log.3": "3"}


def test_a_small_log_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    log.write_text("short")
    rotate(log)
    assert log.read_text() == "short"
