"""docs/deploy/drills.md names drills and options that there are, and says of each other command why no test runs it."""

from __future__ import annotations

import importlib
import re

import pytest

from scripts.deploy_test import PARTS
from tests.conftest import CHECKOUT

PAGE = (CHECKOUT / "docs" / "deploy" / "drills.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:^<!-- untested: (?P<why>[^\n]+) -->\n)?^```sh\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
DRILL = re.compile(r"\.venv/bin/python -m deploy\.drills\.(\w+)\n")
TESTED = {"restore": "restore", "point_in_time": "point-in-time", "failover": "failover"}
FOUND = list(BLOCK.finditer(PAGE))


def test_each_command_is_a_drill_or_says_why_it_is_not_run() -> None:
    drills = [DRILL.fullmatch(match["text"]) for match in FOUND if not match["why"]]

    assert [found and found[1] for found in drills] == list(TESTED)
    assert all(len(match["why"]) > 20 for match in FOUND if match["why"])
    # What runs them without options.
    for name, part in TESTED.items():
        assert f'run_drill("{name}", tmp_path)' in (CHECKOUT / PARTS[part]).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TESTED)
def test_a_drill_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"deploy.drills.{name}").main(["--help"])

    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert said.count("Exit code") == 1
    for option in ("--json", "--keep", "--lose", *(["--asynchronous"] if name == "failover" else [])):
        assert option in said
        assert f"`{option}" in PAGE
