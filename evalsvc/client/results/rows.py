"""One example, what was made of it, and its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from evalsvc.client.values import from_json, to_json


@dataclass(slots=True)
class RowScore:
    """One metric of one row: a number, or why there is none."""

    value: float | None = None
    passed: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    explanation: str | None = None
    spans: list[list[int]] | None = None
    extra: dict[str, Any] | None = None
    judge_cost: float | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> RowScore:
        """Read a score of the service's results."""
        return cls(**{one.name: body.get(one.name) for one in fields(cls)})


@dataclass(slots=True)
class Row:
    """One example and what the runnable made of it. `index` is its place in the inputs."""

    example_id: str
    pos: int
    input: Any
    expected: Any = None
    output: Any = None
    status: str = "ok"
    error_type: str | None = None
    error_message: str | None = None
    latency_ms: float | None = None
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    contexts: list[str] | None = None
    metadata: dict[str, Any] | None = None
    index: int | None = None
    trace_id: str | None = None
    span_id: str | None = None
    scores: dict[str, RowScore] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        """Say whether there is an output to score."""
        return self.status == "ok"

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Row:
        """Read what `as_wire` wrote."""
        values = {**body, "scores": {name: RowScore(**one) for name, one in body["scores"].items()}}
        for name in ("input", "expected", "output", "metadata"):
            values[name] = from_json(values[name])
        return cls(**values)

    def as_wire(self) -> dict[str, Any]:
        """Return the row as JSON."""
        body: dict[str, Any] = to_json(self)
        return body
