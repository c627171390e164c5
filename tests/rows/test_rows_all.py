"""Every row has a test."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.rows.table import IDS, ROWS


def test_no_row_is_left_out() -> None:
    for path in Path(__file__).parent.glob("test_rows_*.py"):
        importlib.import_module(f"tests.rows.{path.stem}")

    assert [id for id in IDS if id not in ROWS] == []
