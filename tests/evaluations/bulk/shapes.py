"""Batches of samples, and the rows that answer them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.conftest import Caller

BATCH = "/v1/evaluate/batch"
EXACT: dict[str, Any] = {"evaluators": [{"evaluator": "exact-match"}], "app": "shop"}


def exact(n: int, **shared: Any) -> dict[str, Any]:
    """A batch of samples of which every second one passes."""
    samples = [{"output": f"text {i}", "label": f"text {i}" if i % 2 else "other"} for i in range(n)]
    return {**EXACT, **shared, "samples": samples}


def rows_of(response: Any) -> list[dict[str, Any]]:
    """The rows of an answer in one piece, each in its place."""
    assert response.status_code == 200, response.content
    rows: list[dict[str, Any]] = response.json()["rows"]
    assert [row["index"] for row in rows] == list(range(len(rows)))
    return rows


def statuses(rows: Iterable[Mapping[str, Any]]) -> list[int]:
    """The status of each row."""
    return [row["status"] for row in rows]


def passes(rows: Iterable[Mapping[str, Any]]) -> list[bool]:
    """What the first evaluator says of each row."""
    return [row["answer"]["results"][0]["evaluation_result"]["pass"] for row in rows]


def request_ids(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The request that each row became."""
    return [row["answer"]["id"] for row in rows]


def lines(*bodies: Mapping[str, Any] | bytes) -> bytes:
    """Bodies of single calls, one a line."""
    return b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in bodies)


def post_lines(caller: Caller, raw: bytes, **headers: str) -> Any:
    """Send lines; the answer is one object, unless Accept says otherwise."""
    return caller.post(BATCH, raw=raw, Content_Type="application/x-ndjson", **headers)


def stream_of(response: Any) -> list[dict[str, Any]]:
    """The rows of a streamed answer."""
    assert response.status_code == 200
    return [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]


def single_calls(shared: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The single calls that a batch stands for."""
    return [{**shared, **sample} for sample in samples]
