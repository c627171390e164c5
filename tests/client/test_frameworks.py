"""The newest releases of the frameworks, in an environment of their own: what they return becomes answers and contexts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

PACKAGES = ("httpx", "langchain-core", "llama-index-core", "dspy", "haystack-ai>=3.4", "openai", "numpy")
PROGRAM = Path(__file__).with_name("framework_outputs.py")
CONTEXT = [{"id": "d1", "text": "Rome is it.", "metadata": {"page": 1}}]
NODES = [{**CONTEXT[0], "score": 0.5}]
RIGHT = {
    "langchain message": {"output": "Rome"},
    "langchain message in blocks": {"output": "Rome"},
    "langchain chain": {"output": {"input": "Italy", "context": CONTEXT, "answer": "Rome"}},
    "langchain stream": {"output": "Rome"},
    "langchain chain, whole input": {"output": ["input"]},
    "langchain asynchronous": {"output": "ITALY"},
    "langchain result": {"output": "Rome"},
    "llama-index query engine": {"output": {"response": "Rome", "source_nodes": NODES}},
    "llama-index query engine, by name": {"output": {"response": "Rome", "source_nodes": NODES}},
    "llama-index streaming": {"output": {"response": "Rome", "source_nodes": NODES}},
    "llama-index asynchronous streaming": {"output": {"response": "Rome", "source_nodes": NODES}},
    "llama-index agent": {"output": {"response": "Rome", "source_nodes": []}},
    "llama-index chat": {"output": "Rome"},
    "llama-index completion": {"output": "Rome"},
    "dspy module": {"output": "Rome", "reasoning": "So.", "answer": "Rome"},
    "dspy prediction": {"output": {"answer": "Rome"}},
    "haystack pipeline": {"output": {"builder": {"prompt": "Say Italy"}}},
    "openai chat": {"output": "Rome"},
    "openai refusal": {"output": "I cannot."},
    "openai response": {"output": "Rome"},
    "openai chat stream": {"output": "Rome"},
    "numpy": {"output": True},
}

REASONS = {
    "openai chat": "length",
    "openai chat stream": "length",
    "openai response": "max_output_tokens",
    "openai refusal": "refusal",
    "langchain message": "length",
    "langchain chain": "max_tokens",
    "langchain result": "length",
    "llama-index chat": "length",
    "haystack message": "length",
    "haystack generator": "length",
    "haystack pipeline": "length",
    "whole": None,
}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with the frameworks; `EVALSVC_FRAMEWORKS` names one that is there."""
    if folder := os.environ.get("EVALSVC_FRAMEWORKS"):
        return Path(folder, "bin/python")
    folder_of_test = tmp_path_factory.mktemp("frameworks")
    venv.create(folder_of_test, with_pip=True)
    interpreter = folder_of_test / "bin/python"
    command = [str(interpreter), "-m", "pip", "install", "--quiet", *PACKAGES]
    subprocess.run(command, capture_output=True, text=True, timeout=540, check=True)
    return interpreter


# It fetches the frameworks: minutes where machine and line are busy.
@pytest.mark.slow
@pytest.mark.timeout(700)
def test_what_frameworks_return_is_read(python: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(CHECKOUT),
        "HAYSTACK_TELEMETRY_ENABLED": "False",
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        [str(python), str(PROGRAM)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        cwd=tmp_path,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["outputs"] == RIGHT, sys.version
    assert found["reasons"] == REASONS, sys.version
