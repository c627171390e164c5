"""One example, what was made of it, and its scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from evalsvc.client.results.bodies import ScoreBody
from evalsvc.client.values import JsonObject, from_json, to_json


@dataclass(slots=True)
class RowScore:
    """One metric of one row: a number, or why there is none.

    Of several samples `value` is the mean of the `n_scored` that have one, `within` their variance, and `samples` has
    each.
    """

    value: float | None = None
    passed: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    explanation: str | None = None
    spans: list[list[int]] | None = None
    extra: dict[str, Any] | None = None
    judge_cost: float | None = None
    n_scored: int | None = None
    within: float | None = None
    samples: list[dict[str, Any]] | None = None

    @classmethod
    def read(cls, body: ScoreBody) -> RowScore:
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
            n_scored=body.get("n_scored"),
            within=body.get("within"),
            samples=body.get("samples"),
        )


@dataclass(slots=True)
class RowSample:
    """One of several answers to an example, or why there is none."""

    output: Any = None
    status: str = "ok"
    error_type: str | None = None
    error_message: str | None = None
    latency_ms: float | None = None
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    trace_id: str | None = None
    span_id: str | None = None

    @classmethod
    def read(cls, body: Mapping[str, Any], output_of: Callable[[object], object] = from_json) -> RowSample:
        """Read a sample that the service has, or that was saved."""
        values: dict[str, Any] = {attribute.name: body.get(attribute.name) for attribute in fields(cls)}
        values["output"] = output_of(values["output"])
        return cls(**values)


@dataclass(slots=True)
class Row:
    """One example and the runnable's output for it. `index` is its position in the inputs.

    An example with several samples has each answer in `samples`; its own answer is the first successful one.

    `isolated` contains the outputs of components for the expected outputs of their predecessors, by component, or
    by `component:source` for the expected output of one source alone; `isolated_errors` contains the messages of
    components that failed.
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
    samples: list[RowSample] | None = None

    @property
    def is_ok(self) -> bool:
        """Return whether there is an output to score."""
        return self.status == "ok"

    @classmethod
    def read(cls, body: Mapping[str, object]) -> Row:
        """Read what `as_wire` wrote."""
        values: dict[str, Any] = dict(body)
        values["scores"] = {name: RowScore(**score) for name, score in values["scores"].items()}
        for name in ("input", "expected", "output", "metadata", "isolated"):
            values[name] = from_json(values.get(name))
        if (samples := values.get("samples")) is not None:
            values["samples"] = [RowSample.read(sample) for sample in samples]
        return cls(**values)

    def as_wire(self) -> JsonObject:
        """Return the row as JSON."""
        return {attribute.name: to_json(getattr(self, attribute.name)) for attribute in fields(self)}
