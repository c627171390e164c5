"""Sample rows from a file: JSON lines, one JSON list, or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalsvc.cli.options import CommandError


def read_sample_file(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file in their order. Refused, naming file and line, where something else is in it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise CommandError(f"{path} cannot be read as UTF-8 text: {exc}.") from exc
    rows = _read_csv(text) if path.suffix.lower() == ".csv" else _read_json(text, path)
    if not rows:
        raise CommandError(f"{path} has no rows. It should hold one JSON object a line.")
    return rows


def _read_csv(text: str) -> list[dict[str, Any]]:
    # An empty cell means an unknown value, not an empty text.
    return [{name: cell for name, cell in row.items() if name and cell} for row in csv.DictReader(io.StringIO(text))]


def _read_json(text: str, path: Path) -> list[dict[str, Any]]:
    if text.lstrip().startswith("["):
        return [_check_object(row, f"{path}, item {i}") for i, row in enumerate(_parse(text, str(path)), 1)]
    lines = ((i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip())
    return [_check_object(_parse(line, f"{path}:{i}"), f"{path}:{i}") for i, line in lines]


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as exc:
        raise CommandError(f"{where} is not JSON: {exc}. The file should hold one JSON object a line.") from exc


def _check_object(row: object, where: str) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise CommandError(f'{where} is no JSON object. Write one object a line, such as {{"input": "…"}}.')
    return dict(row)
