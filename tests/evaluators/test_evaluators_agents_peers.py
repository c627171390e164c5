"""Agents of four frameworks, two APIs and two instrumentations are run: a form that changed with a version is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluators.conversations.reader import read_conversation
from tests.cli.peers import record
from tests.evaluators.conversation_forms import FOLDER, RECORDED, RECORDINGS, build_expected_of, normal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(700)]


@pytest.mark.parametrize("peer", sorted(folder.name for folder in RECORDED.iterdir()))
def test_its_package_writes_what_is_recorded(peer: str, tmp_path: Path) -> None:
    record(peer, tmp_path, FOLDER / "recorders")

    names = [name for name in RECORDINGS if name.startswith(f"{peer}/")]
    assert [f"{peer}/{file.name}" for file in sorted(tmp_path.iterdir())] == names
    for name in names:
        written = json.loads((tmp_path / Path(name).name).read_text(encoding="utf-8"))
        assert normal(read_conversation(written)) == build_expected_of(name), name
