"""docs/patronus.md does what it says, wherever the clients that it speaks of are installed."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.urls import Resolver404, resolve

from tests.conftest import CHECKOUT, Caller, scores_of
from tests.docs.pages import blocks, prose

PAGE = CHECKOUT / "docs" / "patronus.md"
PROGRAMS = [block.text for block in blocks(PAGE) if block.language == "python"]
# These two have tests of their own, which run them and look at what they left: one of them is for a shell.
[SDK] = [text for text in PROGRAMS if "patronus.init(" in text]
[HISTORY] = [block.text for block in blocks(PAGE) if "evalsvc import patronus" in block.text]
OTHERS = [text for text in PROGRAMS if text != SDK]


def clients_of(program: str) -> list[str]:
    """Return the packages that a program imports, but for those that every Python has."""
    names = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return sorted(names - sys.stdlib_module_names)


def run(program: str, web: str, caller: Caller, folder: Path) -> str:
    """Run a program of the page as a reader does."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    ours = {"EVALSVC_URL": web, "EVALSVC_API_KEY": caller.key, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=keep | ours,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", OTHERS, ids=lambda program: "-".join(clients_of(program)))
def test_its_programs_run(web: str, alice: Caller, tmp_path: Path, program: str) -> None:
    if missing := [name for name in clients_of(program) if find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} not installed")

    run(program, web, alice, tmp_path)


def test_its_sdk_keeps_both_kinds_of_verdict(web: str, alice: Caller, tmp_path: Path) -> None:
    run(SDK, web, alice, tmp_path)

    assert len(scores_of(alice, "exact-match")) == 1
    assert len(scores_of(alice, "external:is_short")) == 1


def test_history_moves_once_however_often_it_is_moved(web: str, alice: Caller, charlie: Caller, tmp_path: Path) -> None:
    """Charlie has the history; it becomes Alice's."""
    for label in ("Paris", "Rome"):
        charlie.evaluate("exact-match", output="Paris", label=label, app="shop", log_id=f"log-{label}")
    for _ in range(2):
        printed = paste(HISTORY.replace("=...", f"={charlie.key}"), web, alice, tmp_path)

    assert "evaluations: " in printed
    assert "Both sides count the same." in printed
    name = charlie.post("/v1/evaluations/search", {}).json()["evaluations"][0]["evaluator_id"]
    assert sorted(score for _, score, _ in scores_of(alice, f"external:{name}")) == [0.0, 1.0]
    ours, theirs = (
        sorted((row["created_at"], row["log_id"], row["score"]) for row in found(caller)) for caller in (alice, charlie)
    )
    assert ours == theirs


def paste(block: str, web: str, caller: Caller, folder: Path) -> str:
    """Run a block of the page in a shell; `evalsvc` is the checkout's, and the old address is this service's."""
    command = f"{sys.executable} -m evalsvc.cli import patronus --from {web}"
    done = subprocess.run(
        ["bash", "-ec", block.replace("evalsvc import patronus", command)],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "EVALSVC_URL": web, "EVALSVC_API_KEY": caller.key},
        cwd=CHECKOUT, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def found(caller: Caller) -> list[dict[str, Any]]:
    return list(caller.post("/v1/evaluations/search", {}).json()["evaluations"])


def test_what_is_meant_for_patronus_comes_here(web: str, alice: Caller) -> None:
    [program] = [text for text in PROGRAMS if "Elsewhere" in text]
    names: dict[str, Any] = {}
    exec(compile(program, "patronus.md", "exec"), names)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=names["Elsewhere"](web)) as client:
            body = {"evaluators": [{"evaluator": "pii"}], "evaluated_model_output": "Hello."}
            return await client.post("https://api.patronus.ai/v1/evaluate", json=body, headers={"X-API-KEY": alice.key})

    answer = asyncio.run(ask())
    assert answer.json()["results"][0]["evaluation_result"]["pass"] is True


def is_served(address: str) -> bool:
    path = re.sub(r"\{[^}]*\}", "7c7e3a0e-6f5e-4d27-9a7f-0d3b6c5f2a11", address)
    for candidate in (path, re.sub(r"7c7e[^/]*", "1", path)):
        try:
            resolve(candidate)
        except Resolver404:
            continue
        return True
    return False


def addresses() -> list[tuple[str, bool]]:
    """Return the addresses of the table, and whether the page says that they are served."""
    table = prose(PAGE).partition("## Endpoint by endpoint")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| ") and "---" not in line][1:]
    named = [(path, "not there" not in row[2]) for row in rows for path in re.findall(r"(/v1/[^`,\s]+)", row[0])]
    return [(path, served) for path, served in named if "…" not in path]


@pytest.mark.parametrize(("address", "served"), addresses())
def test_it_says_which_addresses_are_served(address: str, served: bool) -> None:
    assert is_served(address) == served
