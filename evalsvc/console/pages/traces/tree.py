"""The spans of a trace as a tree. Spans without a parent, or in a cycle of parents, are included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.utils.safestring import SafeString

from evalsvc.console.parts.marks import build_json_block, marked_text
from evalsvc.reports.page.elements import element
from evalsvc.telemetry.answers import KINDS, STATUSES
from evalsvc.telemetry.models import LogRecord, Span
from evalsvc.telemetry.reader import SpanContent

FAILED = 2
MAX_INDENT = 12
"""Deeper spans stand as far in: no page is wide enough for more."""
SMALLEST = 0.4


@dataclass
class TraceNode:
    """A span with its children."""

    span: Span
    content: SpanContent
    share: tuple[float, float]
    scores: Sequence[SafeString]
    logs: Sequence[LogRecord]
    children: list[TraceNode] = field(default_factory=list)
    depth: int = 0

    @property
    def indent(self) -> int:
        """The indentation level, limited to `MAX_INDENT`."""
        return min(self.depth, MAX_INDENT)

    @property
    def is_failed(self) -> bool:
        """Whether the span has an error status."""
        return self.span.status_code == FAILED

    @property
    def duration(self) -> str:
        """How long it took, in a unit that fits."""
        return duration_words(self.span.duration_ns)

    @property
    def kind(self) -> str:
        """The span kind in lower case; empty if it is unspecified or internal."""
        kind = self.span.kind
        return KINDS[kind].lower() if 1 < kind < len(KINDS) else ""

    @property
    def status(self) -> str:
        """Return the status in a word."""
        code = self.span.status_code
        return STATUSES[code].lower() if 0 <= code < len(STATUSES) else str(code)

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Return the tokens read and written, where the span tells them."""
        return self.content.tokens.get("input_tokens"), self.content.tokens.get("output_tokens")

    @property
    def model(self) -> str:
        """Return the model that answered."""
        return self.content.model or ""

    @property
    def is_llm(self) -> bool:
        """Whether the span is a call of an LLM."""
        return self.content.kind == "llm"

    @property
    def texts(self) -> list[tuple[str, SafeString]]:
        """Return what went in and came out, where the span tells it."""
        contexts = "\n\n".join(self.content.contexts) or None
        rows = (("Input", self.content.input), ("Contexts", contexts), ("Output", self.content.output))
        return [(title, marked_text(text)) for title, text in rows if text is not None]

    @property
    def attributes(self) -> SafeString | None:
        """Return the other attributes, events and links as they came."""
        texts = (self.content.input, self.content.output)
        sent = self.span.attributes if isinstance(self.span.attributes, dict) else {}
        attributes = {name: value for name, value in sent.items() if not isinstance(value, str) or value not in texts}
        formatted = {
            "attributes": attributes,
            "events": self.span.events,
            "links": self.span.links,
            "resource": self.span.resource,
        }
        return build_json_block({name: value for name, value in formatted.items() if value})

    @property
    def timing(self) -> SafeString:
        """Return the span's time within its trace as a bar."""
        start, width = self.share
        bar = element(
            "rect", x=f"{start:.2f}%", y=1, width=f"{width:.2f}%", height=6, class_="bad" if self.is_failed else None
        )
        line = element("line", class_="scale", x1="0", x2="100%", y1=4, y2=4)
        return element("svg", line, bar, class_="timing", height=8, aria_hidden="true")


def duration_words(nanoseconds: int) -> str:
    """Write a duration in a unit that fits."""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds} ns"


def build_tree(
    spans: Sequence[Span],
    contents: Sequence[SpanContent],
    logs: Sequence[LogRecord],
    scores: Mapping[str, Sequence[SafeString]],
) -> list[TraceNode]:
    """Return the root spans with their descendants; each span appears exactly once."""
    begins, ends = _time_range(spans)
    logs_by_span: dict[str, list[LogRecord]] = {}
    for log in logs:
        logs_by_span.setdefault(log.span_id or "", []).append(log)
    nodes = {
        span.span_id: TraceNode(
            span, content, _share(span, begins, ends), scores.get(span.span_id, ()), logs_by_span.get(span.span_id, ())
        )
        for span, content in zip(spans, contents, strict=True)
    }
    roots: list[TraceNode] = []
    for node in nodes.values():
        parent = nodes.get(node.span.parent_span_id or "")
        (roots if parent is None or _is_cycle_root(node, parent, nodes) else parent.children).append(node)
    for root in roots:
        _set_depths(root)
    return roots


def _is_cycle_root(node: TraceNode, parent: TraceNode, nodes: Mapping[str, TraceNode]) -> bool:
    """Return whether the node is in a cycle of parents, and is the one chosen as its root (the smallest span id)."""
    circle, at = {node.span.span_id}, parent
    while at.span.span_id not in circle:
        circle.add(at.span.span_id)
        above = nodes.get(at.span.parent_span_id or "")
        if above is None:
            return False
        at = above
    return at is node and node.span.span_id == min(circle)


def _set_depths(root: TraceNode) -> None:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for child in node.children:
            child.depth = node.depth + 1
        waiting += node.children


def flat(roots: Sequence[TraceNode]) -> Iterator[TraceNode]:
    """Yield the spans as they are read, each behind the one above it."""
    waiting = [*reversed(roots)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def _time_range(spans: Sequence[Span]) -> tuple[datetime | None, datetime | None]:
    if not spans:
        return None, None
    return min(span.started_at for span in spans), max(span.ended_at for span in spans)


def _share(span: Span, begins: datetime | None, ends: datetime | None) -> tuple[float, float]:
    total_seconds = (ends - begins).total_seconds() if begins and ends else 0.0
    if total_seconds <= 0 or begins is None:
        return 0.0, 100.0
    start = 100 * (span.started_at - begins).total_seconds() / total_seconds
    width = 100 * max((span.ended_at - span.started_at).total_seconds(), 0.0) / total_seconds
    start = min(max(start, 0.0), 100.0 - SMALLEST)
    return start, min(max(width, SMALLEST), 100.0 - start)


def totals(roots: Sequence[TraceNode]) -> dict[str, int]:
    """Return what the spans add up to: their number, those that failed, and the tokens.

    Tokens are those of spans without a span below them that tells some: parents often repeat the sum.
    """
    nodes = list(flat(roots))
    token_nodes = [node for node in nodes if not any(_tells_tokens(below) for below in flat(node.children))]
    return {
        "n_spans": len(nodes),
        "n_failed": sum(node.is_failed for node in nodes),
        "tokens_read": sum(node.tokens[0] or 0 for node in token_nodes),
        "tokens_written": sum(node.tokens[1] or 0 for node in token_nodes),
    }


def _tells_tokens(node: TraceNode) -> bool:
    return any(count is not None for count in node.tokens)
