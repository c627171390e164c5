"""The programs of the page run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

from openai import OpenAI

from tests.conftest import CHECKOUT, Caller
from tests.openai_evals.shapes import SAME, make_eval, make_run, row


def run_program(n: int, **env: str) -> str:
    page = (CHECKOUT / "docs" / "openai-evals.md").read_text(encoding="utf-8")
    program = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[n]
    done = subprocess.run(
        [sys.executable, "-"], input=program, env=os.environ | env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_program_of_the_page(web: str, alice: Caller) -> None:
    told = run_program(0, OPENAI_BASE_URL=f"{web}/v1", OPENAI_API_KEY=alice.key)
    assert told.startswith("completed 1 of 1 http")


def test_evals_move_by_the_second(web: str, client: OpenAI, stranger: OpenAI) -> None:
    """What answers as the hosted service does is this service, with another account."""
    old = make_eval(client, name="moves", metadata={"a": "b"})
    filters: Any = {"type": "logs", "metadata": {"team": "a"}}
    stored = client.evals.create(name="logs", data_source_config=filters, testing_criteria=[SAME])  # type: ignore[list-item]
    run_program(
        1,
        OLD_BASE_URL=f"{web}/v1",
        OLD_API_KEY=client.api_key,
        OPENAI_BASE_URL=f"{web}/v1",
        OPENAI_API_KEY=stranger.api_key,
    )
    new, logs = stranger.evals.list()
    assert logs.to_dict()["data_source_config"] == stored.to_dict()["data_source_config"]
    assert (new.name, new.metadata, new.data_source_config) == (old.name, old.metadata, old.data_source_config)
    assert new.id != old.id
    assert make_run(stranger, new.id, [row("a", "a")]).result_counts.passed == 1
