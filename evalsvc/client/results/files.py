"""Result files: JSON, or JSON Lines with the facts on the first line and one row on each other line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsvc.client.results.rows import Row

FORMAT = "evalsvc-evaluation-result"
VERSION = 1


def write_result(target: Path, facts: Mapping[str, object], rows: Sequence[Row]) -> None:
    """Write facts and rows in the format of the file's suffix. Raises ValueError for an unsupported suffix."""
    header = {"format": FORMAT, "version": VERSION, **facts}
    if target.suffix == ".json":
        body = {**header, "rows": [row.as_wire() for row in rows]}
        target.write_text(json.dumps(body, ensure_ascii=True, indent=1, allow_nan=False), encoding="utf-8")
    elif target.suffix == ".jsonl":
        with target.open("w", encoding="utf-8") as out:
            for line in (header, *(row.as_wire() for row in rows)):
                out.write(json.dumps(line, ensure_ascii=True, allow_nan=False) + "\n")
    else:
        raise ValueError(f"Results are saved as .json, .jsonl or .csv, not as '{target.suffix}'.")


def read_result(source: Path) -> tuple[dict[str, Any], list[Row]]:
    """Return the facts and the rows of a file. Raises ValueError for other content, or for another format."""
    if source.suffix not in (".json", ".jsonl"):
        raise ValueError(f"A result is loaded from .json or .jsonl, not from '{source.suffix}': a CSV has no types.")
    text = source.read_text(encoding="utf-8")
    documents = [text] if source.suffix == ".json" else [line for line in text.split("\n") if line]
    head, *rows = map(json.loads, documents)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ValueError(f"{source} does not hold an evaluation result.")
    if head["version"] != VERSION:
        raise ValueError(f"{source} was written in format {head['version']}; this client reads {VERSION}.")
    rows = head.pop("rows", rows)
    facts = {name: value for name, value in head.items() if name not in ("format", "version")}
    return facts, [Row.read(row) for row in rows]


def write_pieces(target: Path, pieces: Iterator[bytes]) -> Path:
    """Write a download to a file, which is there only when all of it has come."""
    partial = target.with_name(f".{target.name}.part")
    try:
        with partial.open("wb") as out:
            for piece in pieces:
                out.write(piece)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target
