"""azure-ai-evaluation, unmodified and in an environment of its own: its graders make evals and runs, and read them."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from pathlib import Path

import pytest
from openai import OpenAI

from tests.conftest import Caller

pytestmark = pytest.mark.slow

PACKAGE = "azure-ai-evaluation==1.18.10"
PROGRAM = Path(__file__).with_name("azure_program.py")
UNREACHED = ("No matching distribution found", "Could not find a version", "Max retries exceeded")
ANSWERS = ("Oslo", "Osla", "Rome")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has the package."""
    folder = tmp_path_factory.mktemp("azure") / "env"
    venv.create(folder, with_pip=True)
    interpreter = folder / "bin" / "python"
    install = [str(interpreter), "-m", "pip", "install", "-q", "--retries", "1", PACKAGE]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode and any(text in done.stderr for text in UNREACHED):
        pytest.skip("The package index cannot be reached from here.")
    assert done.returncode == 0, done.stderr
    return interpreter


@pytest.mark.timeout(900)
def test_its_graders_find_their_results(python: Path, web: str, alice: Caller, client: OpenAI, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"answer": text, "expected": "Oslo"}) + "\n" for text in ANSWERS))
    environment = os.environ | {"OPENAI_BASE_URL": f"{web}/v1", "OPENAI_API_KEY": alice.key}
    done = subprocess.run(
        [str(python), str(PROGRAM), str(rows)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

    found = json.loads(done.stdout.splitlines()[-1])
    assert [row["outputs.same.passed"] for row in found["rows"]] == [True, False, False]
    assert [row["outputs.near.score"] for row in found["rows"]] == [1.0, 0.75, 0.25]
    assert found["metrics"]["same.pass_rate"] == pytest.approx(1 / 3)
    assert len(list(client.evals.list())) >= 1
