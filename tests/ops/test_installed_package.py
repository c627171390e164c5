"""The wheel in an empty environment, without a checkout: `evalsvc up`, a verdict with an interval, Ctrl-C, once more."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from evalsvc.local.embedded.home import read_env_file
from tests.conftest import CHECKOUT, alive

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SAMPLE = {
    "evaluators": [{"evaluator": "exact-match"}],
    "evaluated_model_output": "Paris",
    "evaluated_model_gold_answer": "Paris",
    "app": "installed",
    "confidence_interval_strategy": "full-history",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built = subprocess.run(
        [sys.executable, "-m", "scripts.dist", "--to", str(folder)],
        cwd=CHECKOUT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "No solution found" in built.stderr or "error sending request" in built.stderr:
        pytest.skip("no package index can be reached")
    assert built.returncode == 0, built.stdout + built.stderr
    assert built.stdout.count("PASSED") == 2
    [path] = folder.glob("*.whl")
    return path


def find_python(version: str) -> str | None:
    """Return an interpreter of this version: on the PATH, else of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser()
    found = [shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python")))]
    return next((path for path in found if path and is_runnable(path)), None)


def is_runnable(python: str) -> bool:
    return subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0


@dataclass
class Package:
    """An environment with the wheel, and the person who runs it."""

    folder: Path
    user: str | None

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.folder / "home"), "PATH": os.defpath, "LANG": "C.UTF-8"}

    @property
    def data(self) -> Path:
        # Root's default is one folder of the machine, where a service of the person who runs the tests may be.
        is_root = self.user is None and os.geteuid() == 0
        return self.folder / ("data" if is_root else "home/.local/share/evalsvc")

    def start(self) -> Service:
        ids: dict[str, Any] = {}
        if self.user:
            ids = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}
        environment = self.environment | ({"EVALSVC_HOME": str(self.data)} if self.data.name == "data" else {})
        process = subprocess.Popen(
            [str(self.folder / "venv" / "bin" / "evalsvc"), "up", "--port", "0", "--otlp-grpc-port", "off"],
            cwd=self.folder / "home", env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True, **ids,
        )  # fmt: skip
        output, ready = "", False
        assert process.stdout is not None
        while not ready and (line := process.stdout.readline()):
            output, ready = output + line, line.startswith("Ready after")
        assert ready, output
        return Service(process, output, read_env_file(self.data / "demo.env"))


@dataclass
class Service:
    process: subprocess.Popen[str]
    output: str
    demo: dict[str, str]

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"X-API-KEY": self.demo["EVALSVC_API_KEY"], "Content-Type": "application/json"}
        url = self.demo["EVALSVC_URL"] + path
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return dict(json.load(answer))

    def evaluate(self) -> dict[str, Any]:
        [result] = self.post("/v1/evaluate", SAMPLE)["results"]
        return dict(result["evaluation_result"])

    def read(self, path: str) -> str:
        with urllib.request.urlopen(self.demo["EVALSVC_URL"] + path, timeout=60) as answer:
            return str(answer.read().decode())

    def stop(self) -> None:
        """Stop it as Ctrl-C does; nothing of it is left."""
        parent = psutil.Process(self.process.pid)
        processes = [parent, *parent.children(recursive=True)]
        os.killpg(self.process.pid, signal.SIGINT)
        output = self.process.communicate(timeout=200)[0]
        assert "Stopped. The data is kept; `evalsvc up` starts again." in output
        assert "Traceback" not in output
        assert self.process.returncode == 0
        assert alive(processes) == []


def find_readable(python: str, user: str | None, folder: Path) -> str:
    """Return this interpreter, or a copy of it in `folder` where the user cannot enter the one of root."""
    as_user: dict[str, Any] = {"user": user} if user else {}
    with contextlib.suppress(PermissionError):
        if (
            subprocess.run([python, "-c", ""], cwd="/", env={}, capture_output=True, check=False, **as_user).returncode
            == 0
        ):
            return python
    look = "import sys, sysconfig; print(sys.base_prefix, sysconfig.get_path('stdlib'), sep='\\n')"
    prefix, library = map(Path, subprocess.check_output([python, "-c", look], text=True).splitlines())
    shutil.copytree(
        library, folder / library.relative_to(prefix), ignore=shutil.ignore_patterns("site-packages", "test", "*.pyc")
    )
    for shared in prefix.glob("lib/libpython*"):
        shutil.copy(shared, folder / "lib", follow_symlinks=False)
    (folder / "bin").mkdir()
    program = Path(shutil.copy(Path(python).resolve(), folder / "bin"))
    # It looks for its library where it was built: in the folder that the user cannot enter.
    built_for = os.fsencode(prefix / "lib") + b"\0"
    program.write_bytes(program.read_bytes().replace(built_for, b"$ORIGIN/../lib".ljust(len(built_for), b"\0")))
    return str(program)


@contextlib.contextmanager
def installed(wheel: Path, python: str, user: str | None) -> Iterator[Package]:
    """Install the wheel with the extra `server` into a new environment, for this user; None: whoever runs the tests."""
    with tempfile.TemporaryDirectory(prefix="evalsvc-installed-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "home").mkdir()
        if user:
            shutil.chown(folder / "home", user)
        python = find_readable(python, user, folder / "python")
        subprocess.run([python, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
        install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(folder / "venv/bin/python")]
        target = f"evalsvc[server] @ {wheel.as_uri()}"
        done = subprocess.run([*install, "--link-mode", "copy", target], capture_output=True, text=True, check=False)
        if "error sending request" in done.stderr:
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, done.stderr
        yield Package(folder, user)


@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("lock", ["runtime.txt", "models.txt", "https.txt"])
def test_every_locked_package_has_a_wheel(lock: str, version: str, tmp_path: Path) -> None:
    # fasttext-predict 0.9.2.4 had none for 3.14; fasttext-community gives the same guesses, and has.
    done = subprocess.run(
        [sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--no-deps", "--only-binary", ":all:",
         "--require-hashes", "--python-version", version, "--target", str(tmp_path),
         "-r", str(CHECKOUT / "requirements" / lock)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "error sending request" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("user", [None, "nobody"])
def test_it_starts_answers_with_an_interval_and_keeps_its_data(wheel: Path, version: str, user: str | None) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"no Python {version} is here")
    if user and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with installed(wheel, python, user) as package:
        service = package.start()
        answers = [service.evaluate() for _ in range(3)]
        guide = service.read("/docs/quickstart")
        service.stop()
        again = package.start()
        last = again.evaluate()
        again.stop()

    assert [answer["pass"] for answer in answers] == [True, True, True]
    interval = answers[2]["additional_info"]["confidence_interval"]
    assert interval["n"] == 2
    assert interval["advice"]["lower"] < 1
    assert "<h1" in guide and "Quickstart" in guide
    assert again.demo["EVALSVC_API_KEY"] == service.demo["EVALSVC_API_KEY"]
    assert last["additional_info"]["confidence_interval"]["n"] == 3
