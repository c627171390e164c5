"""One example, what was made of it, and its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from evalsvc.client.results.bodies import ScoreBody
from evalsvc.client.values import JsonObject, from_json, to_json


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
    def of(cls, body: ScoreBody) -> RowScore:
        """Read a score of the service's results."""
        return cls(
            value=body.get("value"),
            passed=body.get("passed"),
            error_code=body.get("error_code"),
            error_message=body.get("error_message"),
            explanation=body.get("explanation"),
            spans=body.get("spans"),
            extra=body.get("extra"),
            judge_cost=body.get("judge_cost"),
        )


@dataclass(slots=True)
class Row:
    """One example and what the runnable made of it. `index` is its place in the inputs.

    `isolated` has what components made of the outputs that are expected of their predecessors, by component;
    `isolated_errors` the messages of those that broke.
    """

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
    isolated: dict[str, Any] | None = None
    isolated_errors: dict[str, str] = field(default_factory=dict)
    scores: dict[str, RowScore] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        """Say whether there is an output to score."""
        return self.status == "ok"

    @classmethod
    def read(cls, body: Mapping[str, object]) -> Row:
        """Read what `as_wire` wrote."""
        values: dict[str, Any] = dict(body)
        values["scores"] = {name: RowScore(**one) for name, one in values["scores"].items()}
        for name in ("input", "expected", "output", "metadata", "isolated"):
            values[name] = from_json(values.get(name))
        return cls(**values)

    def as_wire(self) -> JsonObject:
        """Return the row as JSON."""
        return {one.name: to_json(getattr(self, one.name)) for one in fields(self)}
