"""`scripts.layout`: one folder for every role, which is small, is written to by nobody, and runs what the checkout runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from scripts import layout
from tests.conftest import CHECKOUT, Caller, forget_messages, start_worker, stop_group
from tests.serving import serving

pytestmark = pytest.mark.slow

MOST_MB = 690
"""With 177 MB of a minimal Debian and 30 of its Python, an image of it stays below 900."""
INLINE = ("exact-match", "pii")
CPU = ("toxicity", "phi", "hallucination", "retrieval-answer-relevance", "pii-broad")


@pytest.fixture(scope="module", autouse=True)
def _no_bytecode() -> Iterator[None]:
    """Run as deploy/image/Dockerfile does: Python writes no bytecode."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        yield


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("laid-out") / "evalsvc"
    if shutil.which("uv") is None and not (Path(sys.prefix) / "bin" / "uv").exists():
        pytest.skip("there is no uv to install with in time")
    done = subprocess.run(
        [sys.executable, "-m", "scripts.layout", str(folder)], cwd=CHECKOUT, capture_output=True, text=True, timeout=500,
        check=False, env={**os.environ, "PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    if "could not" in done.stdout + done.stderr and done.returncode != 0:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def roles(laid_out: Path) -> Iterator[str]:
    """A web process and a worker out of the folder; the address of the first."""
    forget_messages()
    python, app = str(laid_out / "venv" / "bin" / "python"), laid_out / "app"
    worker = start_worker("cpu", program=(python, app))
    try:
        with serving(Path(os.environ["EVALSVC_HOME"]) / "web-of-the-layout.log", "/readyz", (python, app)) as url:
            yield url
    finally:
        stop_group(worker)


def everything_in(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.lstat().st_mtime_ns for path in folder.rglob("*")}


# It installs everything anew.
@pytest.mark.timeout(600)
def test_it_is_small_enough_for_an_image(laid_out: Path) -> None:
    assert layout.megabytes(laid_out) < MOST_MB
    assert not list(laid_out.glob("venv/bin/pip*"))
    assert not list(laid_out.glob("app/tests"))


def test_its_packages_and_licences_are_listed(laid_out: Path) -> None:
    packages = {
        path.name.partition("-")[0].lower() for path in laid_out.glob("venv/lib/python3.*/site-packages/*.dist-info")
    }
    components = json.loads((laid_out / "sbom.cdx.json").read_text())["components"]

    assert len(components) == len(packages) > 80
    assert (laid_out / "NOTICE").stat().st_size > 100_000


@pytest.mark.timeout(600)
def test_it_evaluates_and_writes_nothing_into_itself(laid_out: Path, roles: str, alice: Caller) -> None:
    before = everything_in(laid_out)
    body = {
        "evaluators": [{"evaluator": name} for name in (*INLINE, *CPU)],
        "evaluated_model_input": "When does the library open?",
        "evaluated_model_output": "The library opens at nine.",
        "evaluated_model_retrieved_context": ["The library opens at nine."],
        "evaluated_model_gold_answer": "The library opens at nine.",
    }
    answer = httpx.post(f"{roles}/v1/evaluate", json=body, headers={"X-API-KEY": alice.key}, timeout=120)

    statuses = {one["evaluator_id"]: (one["status"], one["error_message"]) for one in answer.json()["results"]}
    assert {status for status, _ in statuses.values()} == {"success"}, statuses
    assert everything_in(laid_out) == before


@pytest.mark.timeout(600)
def test_it_has_the_pages_and_the_commands(laid_out: Path, roles: str) -> None:
    for path in ("/console/sign-in", "/docs/", "/static/evalsvc/pages.css"):
        assert httpx.get(roles + path, timeout=60).status_code == 200
    done = subprocess.run(
        [str(laid_out / "venv" / "bin" / "python"), "manage.py", "check", "--database", "default"],
        cwd=laid_out / "app", capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    done = subprocess.run(
        [sys.executable, "-m", "scripts.layout", str(tmp_path)], cwd=CHECKOUT, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip

    assert done.returncode != 0
    assert "is not empty" in done.stderr
    assert (tmp_path / "mine").read_text() == "kept"
