"""What stored spans say: in themselves, in their logs, and in what was retrieved for them in their trace."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Lower, RowNumber
from django.db.models.lookups import In

from evalsvc.telemetry.attributes import KIND_WORDS, KINDS, find_kind
from evalsvc.telemetry.models import LogRecord, Span
from evalsvc.telemetry.reader import FUNCTION_ARGUMENTS, FUNCTION_OUTPUT, SpanContent, read_span

Key = tuple[str, str]
Logs = list[tuple[Any, Any]]
ANSWERS, GROUPS, RETRIEVALS = ("llm", "chain", "agent"), ("chain", "agent"), ("retriever", "reranker")
MAX_DEPTH = 200
"""Of spans within each other that are followed upwards."""
MAX_LINKS, MAX_LINKS_READ = 20_000, 100_000
"""Spans of one trace that are looked at, the newest, and of all traces of a read, which share them evenly."""
MAX_NEAR, MAX_RETRIEVALS = 200, 10
"""Retrievals that are looked at for one span within each span around it, the latest, and that are read for it."""
MAX_LOGS = 2_000
"""Logs that are read at a time, the newest of each span, which share them evenly."""
MAX_CONTEXTS, MAX_CONTEXT_CHARS = 20, 100_000
"""That one span gets of retrievals."""
WITH_TEXTS = Q(attributes__has_key="event.name") | Q(body__has_any_keys=[FUNCTION_ARGUMENTS, FUNCTION_OUTPUT])
"""Logs in which a span may have its texts."""


def build_kind_condition(*kinds: str) -> Q:
    """Return what SQL can tell of the kinds of spans: they are among the spans that meet it, see `find_kind`."""
    words = [word for word, kind in KIND_WORDS.items() if kind in kinds]
    return reduce(or_, (Q(In(Lower(KeyTextTransform(name, "attributes")), words)) for name in KINDS))


OF_RETRIEVAL = build_kind_condition(*RETRIEVALS)


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
    trace_ids, span_ids = {trace_id for trace_id, _ in wanted}, {span_id for _, span_id in wanted}
    stored = LogRecord.objects.filter(WITH_TEXTS, account=account_id, trace_id__in=trace_ids, span_id__in=span_ids)
    ranks = Window(RowNumber(), partition_by=["trace_id", "span_id"], order_by=["-occurred_at", "-id"])
    newest = stored.annotate(rank=ranks).order_by("rank", "-id").values("id")[:MAX_LOGS]
    rows = LogRecord.objects.filter(account=account_id, pk__in=newest).order_by("occurred_at", "id")
    for trace_id, span_id, attributes, body in rows.values_list("trace_id", "span_id", "attributes", "body"):
        if trace_id and span_id and (trace_id, span_id) in wanted:
            logs.setdefault((trace_id, span_id), []).append((attributes, body))
    return logs


def _add_retrieved(account_id: int, spans: Sequence[Span], contents: list[SpanContent]) -> list[SpanContent]:
    pairs = list(zip(spans, contents, strict=True))
    without = [span for span, content in pairs if content.kind in ANSWERS and not content.contexts]
    traces = _load_links(account_id, {span.trace_id for span in without})
    kinds = {span.pk: content.kind for span, content in pairs}
    retrievals = {trace_id: _group_retrievals(links) for trace_id, links in traces.items()}
    chosen = {
        span.pk: _choose_retrievals(span, kinds[span.pk], traces[span.trace_id], retrievals[span.trace_id])
        for span in without
        if span.trace_id in traces
    }
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
    ranks = Window(RowNumber(), partition_by=["trace_id"], order_by=["-id"])
    ranked = Span.objects.filter(account=account_id, trace_id__in=trace_ids).annotate(rank=ranks)
    newest = ranked.filter(rank__lte=MAX_LINKS).order_by("rank", "-id").values("id")[:MAX_LINKS_READ]
    spans = Span.objects.filter(account=account_id, pk__in=newest)
    # In most traces nothing was retrieved: they are not read.
    found = set(spans.filter(OF_RETRIEVAL).values_list("trace_id", flat=True))
    if not found:
        return traces
    columns = ("id", "trace_id", "span_id", "parent_span_id", "started_at", "ended_at")
    kinds = [KeyTextTransform(name, "attributes") for name in KINDS]
    values: tuple[Any, ...]
    for values in spans.filter(trace_id__in=found).values_list(*columns, *kinds):
        kind = find_kind(dict(zip(KINDS, values[len(columns) :], strict=True)))
        link = SpanLink(*values[: len(columns)], kind=kind)
        traces.setdefault(link.trace_id, {})[link.span_id] = link
    return {
        trace_id: links for trace_id, links in traces.items() if any(link.kind in RETRIEVALS for link in links.values())
    }


def _group_retrievals(links: Mapping[str, SpanLink]) -> dict[str | None, list[SpanLink]]:
    """Return the retrievals of a trace within each of its spans, the latest last, and with None all of them."""
    found = sorted((link for link in links.values() if link.kind in RETRIEVALS), key=lambda link: link.span_id)
    groups: dict[str | None, list[SpanLink]] = {}
    for link in sorted(reversed(found), key=lambda link: link.ended_at):
        for id in (*_list_ancestors(link.span_id, links), None):
            groups.setdefault(id, []).append(link)
    return groups


def _choose_retrievals(
    span: Span, kind: str, links: Mapping[str, SpanLink], retrievals: Mapping[str | None, Sequence[SpanLink]]
) -> list[SpanLink]:
    """Return what was retrieved before a span began, or within a chain: the nearest common ancestor first, then the
    latest. What a reranker was given under the same ancestor is left to it.
    """
    chosen: list[SpanLink] = []
    seen = set[int]()
    for id in (*_list_ancestors(span.span_id, links), None):
        found = retrievals.get(id, ())
        is_within = id == span.span_id and kind in GROUPS
        end = len(found) if is_within else bisect_right(found, span.started_at, key=lambda link: link.ended_at)
        near = [link for link in found[max(0, end - MAX_NEAR) : end] if link.id not in seen]
        seen.update(link.id for link in near)
        reranked_at = max((link.started_at for link in near if link.kind == "reranker"), default=None)
        chosen += [
            link
            for link in reversed(near)
            if link.kind == "reranker" or reranked_at is None or link.ended_at > reranked_at
        ]
        if len(chosen) >= MAX_RETRIEVALS:
            break
    return chosen[:MAX_RETRIEVALS]


def _list_ancestors(span_id: str, links: Mapping[str, SpanLink]) -> list[str]:
    """Return a span's own id and those of the spans around it, each once."""
    path: dict[str, None] = {}
    id: str | None = span_id
    while id is not None and id not in path and len(path) < MAX_DEPTH:
        path[id] = None
        id = links[id].parent_id if id in links else None
    return list(path)


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
