"""The packages of other products write what is recorded: a form that changed with a new version is noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evalsvc.cli.main import command_line
from tests.cli.peers import PINS, record

pytestmark = pytest.mark.slow
RECORDED = Path(__file__).parent / "recorded"


def check(source: str, file: Path) -> Any:
    """Return what a check of a file says of its contents, or why it is refused."""
    arguments = ["import", source, str(file), "--dry-run", "--json"]
    done = CliRunner().invoke(command_line, arguments, catch_exceptions=False)
    if not done.stdout:
        return done.stderr.replace(str(file.parent), "")
    told = json.loads(done.stdout)
    return {name: told[name] for name in ("rows", "scores", "without_score", "n_left_out", "unjoined")} | {
        "shapes": [row["shape"] for row in told["files"]]
    }


@pytest.mark.parametrize("peer", [peer for peer in PINS if (RECORDED / peer).exists()])
def test_its_package_writes_what_is_recorded(peer: str, tmp_path: Path) -> None:
    record(peer, tmp_path)

    source = peer if peer in ("langfuse", "phoenix") else "scores"
    recorded = {file.name: check(source, file) for file in sorted((RECORDED / peer).iterdir())}
    written = {name: check(source, tmp_path / name) for name in recorded}
    assert written == recorded
