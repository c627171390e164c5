"""A start that cannot be: it says why in a sentence, soon, and leaves nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from pathlib import Path

import pytest

from benchmarks import memory
from evalsvc.local.embedded.home import read_env_file
from evalsvc.local.supervisor.command import add_arguments, build_options
from evalsvc.local.supervisor.front.setup import build_proxied_environment, refuse_unreachable
from evalsvc.local.supervisor.progress import StartProgress
from evalsvc.local.supervisor.run import Start, StartOptions
from evalsvc.local.supervisor.supervisor import ServiceFailed
from tests.conftest import CHECKOUT, wait_until

PATIENCE = 200

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="needs make")


def begun(home: Path | str, *arguments: str, prefix: tuple[str, ...] = (), **env: str) -> subprocess.Popen[str]:
    foreign = ("ARGS", "MAKE", "MFLAGS", "HTTPS", "EVALSVC_")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    own = {"EVALSVC_HOME": str(home), "EVALSVC_VENV": sys.prefix, "EVALSVC_OTLP_GRPC_PORT": "off"}
    return subprocess.Popen(
        [*prefix, "make", "up", *arguments],
        cwd=CHECKOUT,
        env={**ours, **own, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def is_group(number: int) -> bool:
    """Say whether a process group has members, those among them that nobody has reaped yet."""
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


def refusal(process: subprocess.Popen[str]) -> str:
    said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode != 0
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize("delay", [0.02, 0.1, 0.2, 0.3, 0.45, 0.7, 1.0])
def test_ctrl_c_in_the_first_second_leaves_no_traceback(tmp_path: Path, delay: float) -> None:
    process = begun(tmp_path / "home", EVALSVC_PORT="0", ARGS="--no-demo")
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)[0]

    # None of ours: while Python itself starts, for some milliseconds, nothing of ours can say anything. Line 0 is before
    # the first of ours.
    for ours in ("manage.py", "scripts/bootstrap.py"):
        said = said.replace(f'File "{CHECKOUT}/{ours}", line 0,', "")
    assert str(CHECKOUT) not in said.partition("Traceback")[2], said
    wait_until(lambda: not is_group(process.pid))


def test_a_database_whose_password_has_gone_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "postgres" / "data").mkdir(parents=True)
    said = refusal(begun(tmp_path))

    assert f"{tmp_path}/secrets.env has no POSTGRES_PASSWORD" in said and "delete the folder" in said


def test_a_home_that_cannot_be_written_is_named_with_the_remedy() -> None:
    said = refusal(begun("/proc/nowhere"))

    assert "The service cannot keep its data in /proc/nowhere: No such file or directory." in said
    assert "EVALSVC_HOME=" in said


@pytest.mark.skipif(not shutil.which("setpriv") or os.geteuid() != 0, reason="needs setpriv, and root to give up")
@pytest.mark.parametrize(("variable", "arguments"), [("EVALSVC_PORT", ()), ("EVALSVC_HTTPS_PORT", ("HTTPS=1",))])
def test_a_forbidden_port_is_not_called_taken(tmp_path: Path, variable: str, arguments: tuple[str, ...]) -> None:
    if int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 80:
        pytest.skip("everybody may listen at it here")
    as_user = ("setpriv", "--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service")
    said = refusal(begun(tmp_path / "home", *arguments, prefix=as_user, **{variable: "80"}))

    assert "Port 80 is not for ordinary users. Choose one from 1024 on" in said
    assert "port 80 is taken" not in said.lower()


def test_https_that_nothing_takes_is_refused_with_both_remedies(tmp_path: Path) -> None:
    said = refusal(begun(tmp_path / "home", EVALSVC_REQUIRE_HTTPS="1"))

    assert "`make up HTTPS=1`" in said
    assert "EVALSVC_BEHIND_PROXY=1" in said
    assert not (tmp_path / "home" / "logs").exists() or not list((tmp_path / "home" / "logs").iterdir())


def test_https_is_required_only_where_somebody_ends_it() -> None:
    required = {"EVALSVC_REQUIRE_HTTPS": "on"}
    refuse_unreachable({}, has_front=False)
    refuse_unreachable(required, has_front=True)
    refuse_unreachable(required | {"EVALSVC_BEHIND_PROXY": "true"}, has_front=False)
    with pytest.raises(ServiceFailed):
        refuse_unreachable(required, has_front=False)


def test_behind_the_front_https_is_required_whatever_was_said() -> None:
    told = build_proxied_environment({"EVALSVC_REQUIRE_HTTPS": "0", "EVALSVC_HSTS_SECONDS": "60"})

    assert told == {"EVALSVC_REQUIRE_HTTPS": "1", "EVALSVC_BEHIND_PROXY": "1", "EVALSVC_HSTS_SECONDS": "60"}
    assert build_proxied_environment({})["EVALSVC_HSTS_SECONDS"] == "0"


def build_start(options: StartOptions, home: Path) -> Start:
    return Start(options, home, {}, None, None, StartProgress(print), None, contextlib.ExitStack())  # type: ignore[arg-type]


@pytest.mark.parametrize("is_writable", [True, False])
def test_a_checkout_for_reading_only_gets_no_file_for_shells(tmp_path: Path, is_writable: bool) -> None:
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    checkout.mkdir()
    (checkout / "manage.py").touch()
    home.mkdir()
    if not is_writable:
        (checkout / ".evalsvc").touch()  # for root, too, no folder can be made there
    start = build_start(StartOptions(checkout), home)

    path = start._write_demo_env("http://a", {"EVALSVC_API_KEY": "k"})

    assert path == (".evalsvc/demo.env" if is_writable else str(home / ".evalsvc" / "demo.env"))
    assert "http://a" in (checkout / path if is_writable else Path(path)).read_text()


def test_a_second_service_of_a_checkout_leaves_the_file_for_shells_to_the_one_that_runs(tmp_path: Path) -> None:
    """As a benchmark that starts the service beside one that is used."""
    checkout, first_home, second_home = (tmp_path / name for name in ("checkout", "first", "second"))
    for folder in (checkout, first_home, second_home):
        folder.mkdir()
    (checkout / "manage.py").touch()
    first = build_start(StartOptions(checkout), first_home)
    second = build_start(StartOptions(checkout), second_home)
    named = build_start(StartOptions(checkout, demo_env=tmp_path / "named"), second_home)

    assert first._write_demo_env("http://first", {}) == ".evalsvc/demo.env"
    assert second._write_demo_env("http://second", {}) == str(second_home / ".evalsvc" / "demo.env")
    assert named._write_demo_env("http://named", {}) == str(tmp_path / "named" / "demo.env")
    assert read_env_file(checkout / ".evalsvc" / "demo.env")["EVALSVC_URL"] == "http://first"

    first.resources.close()
    assert second._write_demo_env("http://second", {}) == ".evalsvc/demo.env"
    assert read_env_file(checkout / ".evalsvc" / "demo.env")["EVALSVC_URL"] == "http://second"


def test_an_installed_package_has_the_file_for_shells_in_its_home(tmp_path: Path) -> None:
    packages, home = tmp_path / "site-packages", tmp_path / "home"
    packages.mkdir()
    home.mkdir()

    assert build_start(StartOptions(packages), home)._write_demo_env("http://a", {}) == str(home / "demo.env")
    assert list(packages.iterdir()) == []


def test_benchmarks_start_the_service_with_a_file_for_shells_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def record(command: list[str], **options: object) -> object:
        commands.append(command)
        raise OSError

    monkeypatch.setattr("subprocess.Popen", record)
    with pytest.raises(OSError), memory.started(tmp_path):
        pass
    parser = ArgumentParser()
    add_arguments(parser)

    assert build_options(vars(parser.parse_args(commands[0][3:]))).demo_env == tmp_path
