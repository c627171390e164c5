"""An eval with a run and a file, made without OpenAI's client."""

from __future__ import annotations

from typing import Any

from tests.caller import Caller
from tests.factories import ok
from tests.openai_evals.shapes import SAME


def new_graded_rows(caller: Caller) -> None:
    """Make an eval, a run of it and a file."""
    config = {"type": "custom", "item_schema": {"type": "object"}}
    made = ok(caller.post("/v1/evals", {"data_source_config": config, "testing_criteria": [SAME]}))
    # So many rows that they become a file.
    rows: list[Any] = [{"item": {"category": "a"}, "sample": {"output_text": "a" * 70_000}}]
    source = {"type": "jsonl", "source": {"type": "file_content", "content": rows}}
    ok(caller.post(f"/v1/evals/{made['id']}/runs", {"data_source": source}))
