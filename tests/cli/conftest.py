"""The command line against the real service."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.tools import environment
from tests.comparisons.shapes import judging_all
from tests.conftest import Caller
from tests.docs.conftest import web

__all__ = ["web"]
APP = """
CAPITALS = {"Italy": "Rome", "France": "Paris", "Spain": "Madrid", "Japan": "Tokyo"}

def answer(question):
    return CAPITALS[question]

def worse(question):
    return CAPITALS[question] if question != "Spain" else "Barcelona"

def length(input, output, expected):
    return len(output)
"""


@pytest.fixture
def shell(web: str, alice: Caller, tmp_path: Path) -> dict[str, str]:
    """Alice's shell."""
    return environment(web, alice, tmp_path)


@pytest.fixture
def judging() -> Iterator[None]:
    """Comparisons are judged beside what the test does."""
    with judging_all():
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project: code, and what is right."""
    (tmp_path / "capitals_app.py").write_text(APP)
    rows = [("Italy", "Rome"), ("France", "Paris"), ("Spain", "Madrid"), ("Japan", "Tokyo")]
    lines = (json.dumps({"question": q, "answer": a, "topic": "europe" if q != "Japan" else "asia"}) for q, a in rows)
    (tmp_path / "capitals.jsonl").write_text("\n".join(lines))
    (tmp_path / "odd.jsonl").write_text('{"Frage": "Italy", "Antwort": "Rome"}')
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("capitals_app", None)
