"""Outputs with the trace they were made in, and with what the caller knows of how they were made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

TRACE_DIGITS, SPAN_DIGITS = 32, 16
SPAN_NAME = "evalsvc.example"
# By this attribute the service finds the spans of an experiment.
EXPERIMENT = "pat.experiment.id"
HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class SpanReference:
    """Where an output was produced: the IDs of a trace and of a span in it, or None if nothing was recorded."""

    trace_id: str | None = None
    span_id: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """What a runnable returns to report more than its output: its usage, and the trace in which it ran.

    `cost` is an amount of money in a unit of your choice. `trace_id` and `span_id` are OpenTelemetry IDs, as
    hexadecimal digits or as the numbers of a span context; a span requires its trace. Raises ValueError for an invalid
    ID. `isolated` contains the outputs of components for the expected outputs of their predecessors, by component and
    field.
    """

    value: Any
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    trace_id: str | int | None = None
    span_id: str | int | None = None
    isolated: Mapping[str, Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        if self.span_id is not None and self.trace_id is None:
            raise ValueError("A span is found by its trace: give `trace_id` beside `span_id`.")
        # Validate here, so that the error is raised in the caller's code.
        self.place()

    def place(self) -> SpanReference:
        """Return the ids as the service takes them."""
        return SpanReference(
            _digits("trace_id", self.trace_id, TRACE_DIGITS), _digits("span_id", self.span_id, SPAN_DIGITS)
        )


def _digits(name: str, value: str | int | None, n: int) -> str | None:
    if value is None:
        return None
    text = f"{value:0{n}x}" if isinstance(value, int) else value.lower()
    if len(text) != n or not set(text) <= HEX or not text.strip("0"):
        raise ValueError(f"`{name}` is {n} hexadecimal digits that are not all zero, not {value!r}.")
    return text


class Tracing:
    """The caller's OpenTelemetry, where there is one: each example becomes a span that what it calls is part of.

    The spans are children of the one that was current when this object was made, and roots where there was none.
    Without the package, without a tracer provider, or where sampling leaves an example out, nothing is recorded.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry import context, trace
        except ImportError:
            self._tracer = None
            return
        self._context = context
        self._caller = context.get_current()
        self._tracer = trace.get_tracer("evalsvc.client")

    @contextmanager
    def example(self, **attributes: str) -> Iterator[SpanReference]:
        """Run one example in a span; what it raises is noted there."""
        if self._tracer is None:
            yield SpanReference()
            return
        token = self._context.attach(self._caller)
        try:
            with self._tracer.start_as_current_span(SPAN_NAME, attributes=attributes) as span:
                ids = span.get_span_context()
                yield (
                    SpanReference(f"{ids.trace_id:032x}", f"{ids.span_id:016x}")
                    if span.is_recording()
                    else SpanReference()
                )
        finally:
            self._context.detach(token)
