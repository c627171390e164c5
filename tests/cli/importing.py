"""What tests of imports share: the command as it is called, files as they are exported, and what the account holds."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from evalsvc.cli.main import command_line
from tests.caller import Caller
from tests.factories import ok


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(web: str, caller: Caller, *arguments: object) -> Ran:
    """Run `evalsvc import` with a caller's key."""
    account = ["--url", web, "--api-key", caller.key]
    done = CliRunner().invoke(command_line, ["import", *map(str, arguments), *account], catch_exceptions=False)
    return Ran(done.exit_code, done.stdout, done.stderr)


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    """Write records as JSON lines; a text is a line as it is."""
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Write records as CSV, as pandas does: no value is an empty cell, and a list or an object is JSON."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        table.writeheader()
        for row in rows:
            table.writerow({name: _cell(value) for name, value in row.items()})
    return path


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list) else value


def results(caller: Caller, **wanted: object) -> list[Any]:
    """Return an account's results, oldest first."""
    body: dict[str, Any] = {"order": "+created_at", "limit": 10_000, **wanted}
    rows: list[Any] = []
    while True:
        page = ok(caller.post("/v1/evaluation-results/search", body))
        rows += page["results"]
        # A page ends at 4 MB.
        if "limit" in wanted or page["next_cursor"] is None:
            return rows
        body["cursor"] = page["next_cursor"]


def verdicts(caller: Caller) -> dict[str, tuple[Any, Any, Any]]:
    """Return score, pass and text of each result, by the name of its evaluator and its place in the order of time."""
    found = results(caller)
    return {
        f"{row['evaluator_id'].removeprefix('external:')}-{i}": (row["score_raw"], row["pass"], row.get("text_output"))
        for i, row in enumerate(found)
    }


def datasets(caller: Caller) -> dict[str, list[Any]]:
    """Return the examples of each dataset's newest version, by its name."""
    found = ok(caller.get("/v1/datasets"))["datasets"]
    return {row["name"]: examples(caller, row["id"]) for row in found}


def examples(caller: Caller, id: str) -> list[Any]:
    """Return the examples of a dataset's newest version."""
    answer = caller.get(f"/v1/datasets/{id}/jsonl")
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return [json.loads(line) for line in body.splitlines()]
