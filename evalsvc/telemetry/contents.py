"""What stored spans say: in themselves, in their logs, and in what was retrieved for them in their trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models.fields.json import KeyTextTransform

from evalsvc.telemetry.attributes import KINDS, find_kind
from evalsvc.telemetry.models import LogRecord, Span
from evalsvc.telemetry.reader import SpanContent, read_span

Key = tuple[str, str]
Logs = list[tuple[Any, Any]]
ANSWERS, GROUPS, RETRIEVALS = ("llm", "chain", "agent"), ("chain", "agent"), ("retriever", "reranker")
MAX_DEPTH = 200
"""Of spans within each other that are followed upwards."""
MAX_LINKS, MAX_RETRIEVALS = 20_000, 10
"""Spans of the traces that are looked at, the newest, and retrievals that are read for one span."""
MAX_CONTEXTS, MAX_CONTEXT_CHARS = 20, 100_000
"""That one span gets of retrievals."""


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A span of a trace without its texts."""

    id: int
    trace_id: str
    span_id: str
    parent_id: str | None
    started_at: datetime
    ended_at: datetime
    kind: str


def read_contents(account_id: int, spans: Sequence[Span]) -> list[SpanContent]:
    """Return what each span says. Within the account's scope.

    A call of an LLM, a chain or an agent without contexts gets those of retrievals in its trace.
    """
    contents = [read_span(span.attributes, span.events, name=span.name) for span in spans]
    pairs = list(zip(spans, contents, strict=True))
    silent = [span for span, content in pairs if content.input is None or not (content.output or content.tool_calls)]
    logs = _load_logs(account_id, silent)
    contents = [_read_logs(span, content, logs) for span, content in pairs]
    return _add_retrieved(account_id, spans, contents)


def _read_logs(span: Span, content: SpanContent, logs: Mapping[Key, Logs]) -> SpanContent:
    if not (lines := logs.get((span.trace_id, span.span_id))):
        return content
    return read_span(span.attributes, span.events, name=span.name, logs=lines)


def _load_logs(account_id: int, spans: Sequence[Span]) -> dict[Key, Logs]:
    """Return the logs of spans without texts of their own: some senders have them there."""
    wanted = {(span.trace_id, span.span_id) for span in spans}
    logs: dict[Key, Logs] = {}
    if not wanted:
        return logs
    rows = LogRecord.objects.filter(account=account_id, trace_id__in={trace_id for trace_id, _ in wanted})
    for trace_id, span_id, attributes, body in rows.order_by("occurred_at", "id").values_list(
        "trace_id", "span_id", "attributes", "body"
    ):
        if trace_id and span_id and (trace_id, span_id) in wanted:
            logs.setdefault((trace_id, span_id), []).append((attributes, body))
    return logs


def _add_retrieved(account_id: int, spans: Sequence[Span], contents: list[SpanContent]) -> list[SpanContent]:
    pairs = list(zip(spans, contents, strict=True))
    without = [span for span, content in pairs if content.kind in ANSWERS and not content.contexts]
    traces = _load_links(account_id, {span.trace_id for span in without})
    kinds = {span.pk: content.kind for span, content in pairs}
    chosen = {span.pk: _choose_retrievals(span, kinds[span.pk], traces.get(span.trace_id, {})) for span in without}
    texts = _load_contexts(account_id, {link.id for links in chosen.values() for link in links})
    return [
        replace(content, contexts=tuple(_take_contexts(texts.get(link.id, ()) for link in chosen[span.pk])))
        if chosen.get(span.pk)
        else content
        for span, content in pairs
    ]


def _load_links(account_id: int, trace_ids: set[str]) -> dict[str, dict[str, SpanLink]]:
    """Return the spans of traces in which something was retrieved, by trace and id."""
    traces: dict[str, dict[str, SpanLink]] = {}
    if not trace_ids:
        return traces
    columns = ("id", "trace_id", "span_id", "parent_span_id", "started_at", "ended_at")
    kinds = [KeyTextTransform(name, "attributes") for name in KINDS]
    rows = Span.objects.filter(account=account_id, trace_id__in=trace_ids).order_by("-id")
    values: tuple[Any, ...]
    for values in rows.values_list(*columns, *kinds)[:MAX_LINKS]:
        kind = find_kind(dict(zip(KINDS, values[len(columns) :], strict=True)))
        link = SpanLink(*values[: len(columns)], kind=kind)
        traces.setdefault(link.trace_id, {})[link.span_id] = link
    return {
        trace_id: links for trace_id, links in traces.items() if any(link.kind in RETRIEVALS for link in links.values())
    }


def _choose_retrievals(span: Span, kind: str, links: Mapping[str, SpanLink]) -> list[SpanLink]:
    """Return what was retrieved before a span began, or within a chain: the nearest common ancestor first, then the
    latest. What a reranker was given under the same ancestor is left to it.
    """
    path = {id: distance for distance, id in enumerate(_list_ancestors(span.span_id, links))}
    near: list[tuple[int, SpanLink]] = []
    for link in links.values():
        if link.kind not in RETRIEVALS:
            continue
        distance = next((path[id] for id in _list_ancestors(link.span_id, links) if id in path), len(path))
        if link.ended_at <= span.started_at or (distance == 0 and kind in GROUPS):
            near.append((distance, link))
    rerankers = [(distance, link) for distance, link in near if link.kind == "reranker"]
    near = [
        (distance, link)
        for distance, link in near
        if link.kind == "reranker"
        or not any(at == distance and link.ended_at <= reranker.started_at for at, reranker in rerankers)
    ]
    near.sort(key=lambda row: (row[0], -row[1].ended_at.timestamp(), row[1].span_id))
    return [link for _, link in near[:MAX_RETRIEVALS]]


def _list_ancestors(span_id: str, links: Mapping[str, SpanLink]) -> Iterator[str]:
    """Yield a span's own id and those of the spans around it."""
    id: str | None = span_id
    for _ in range(MAX_DEPTH):
        if id is None:
            return
        yield id
        id = links[id].parent_id if id in links else None


def _load_contexts(account_id: int, ids: set[int]) -> dict[int, Sequence[str]]:
    if not ids:
        return {}
    rows = Span.objects.filter(account=account_id, pk__in=ids).values_list("id", "attributes", "events")
    return {id: read_span(attributes, events).contexts for id, attributes, events in rows.iterator(chunk_size=50)}


def _take_contexts(retrieved: Iterator[Sequence[str]]) -> Iterator[str]:
    """Yield different texts, so many and so long as one span gets."""
    n_chars, taken = 0, set[str]()
    for texts in retrieved:
        for text in texts:
            if text in taken or n_chars + len(text) > MAX_CONTEXT_CHARS:
                continue
            n_chars += len(text)
            taken.add(text)
            yield text
            if len(taken) == MAX_CONTEXTS:
                return
