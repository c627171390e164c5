"""`make up` in a copy of the checkout, as a newcomer runs it, up to the first evaluation and a clean stop."""

import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from evalsvc.local.embedded.home import read_env_file
from tests.conftest import alive
from tests.installation import OURS, SERVICES, Installation, Running, eventually_evaluates, installed, told

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(not shutil.which("make"), reason="needs make"),
]


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with installed() as copy:
        yield copy


@pytest.fixture
def running(installation: Installation) -> Running:
    """The service as another test of this file has left it, or a new one."""
    return installation.service or installation.start()


def test_it_prints_all_that_a_newcomer_needs(running: Running) -> None:
    demo = running.demo
    for name in ("EVALSVC_URL", "EVALSVC_API_KEY", "EVALSVC_ADMIN_URL", "EVALSVC_ADMIN_USER", "EVALSVC_ADMIN_PASSWORD"):
        assert demo[name] in running.output
    assert demo["EVALSVC_API_KEY_B"] != demo["EVALSVC_API_KEY"]
    assert f"{demo['EVALSVC_URL']}/docs/" in running.output
    assert "interval" in running.output
    assert "Ctrl-C" in running.output
    assert stat.S_IMODE((running.installation.checkout / ".evalsvc" / "demo.env").stat().st_mode) == 0o600


def test_the_first_evaluation_of_the_printed_key_has_no_score_before_it(running: Running) -> None:
    """No test of this file captures: what is found here, `make up` has put there."""
    eventually_evaluates(running)
    _, body = running.evaluate(confidence_interval_strategy="full-history")

    infos = [result["evaluation_result"]["additional_info"] for result in body["results"]]
    assert [info["confidence_interval"]["n"] for info in infos] == [0, 0]


def test_every_lane_answers(running: Running) -> None:
    eventually_evaluates(running)


def test_no_child_gets_the_owners_password(running: Running) -> None:
    secrets = read_env_file(running.installation.home / "secrets.env")
    # How many processes there are depends on the machine, and what is not ours may write over its environment.
    assert all(running.child(service).environ() for service in OURS)
    told_of = [told(process, psutil.Process.environ) for process in running.supervisor().children(recursive=True)]
    for found in filter(None, told_of):
        values = " ".join(found.values())
        assert secrets["DATABASE_OWNER_PASSWORD"] not in values
        assert secrets["POSTGRES_PASSWORD"] not in values


def test_a_second_one_names_the_first(running: Running) -> None:
    second = subprocess.run(
        ["make", "up"],
        cwd=running.installation.checkout,
        env=running.installation.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert second.returncode == 0
    assert f"already runs at {running.demo['EVALSVC_URL']}" in second.stdout


@pytest.mark.parametrize("victim", SERVICES)
def test_it_recovers_from_kill_9_of(running: Running, victim: str) -> None:
    eventually_evaluates(running)
    running.child(victim).kill()
    eventually_evaluates(running)


def test_ctrl_c_leaves_no_process_and_a_second_start_keeps_the_account(running: Running) -> None:
    key, processes = running.demo["EVALSVC_API_KEY"], running.settled(SERVICES)
    running.installation.stop()
    assert alive(processes) == []
    assert running.installation.start().demo["EVALSVC_API_KEY"] == key


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the kernel's parent-death signal")
def test_kill_9_of_the_supervisor_leaves_no_process(running: Running) -> None:
    processes = running.processes()
    processes[0].kill()
    running.process.wait(200)
    assert psutil.wait_procs(processes, timeout=200)[1] == []
    running.stop()
    running.installation.service = None
    eventually_evaluates(running.installation.start())
