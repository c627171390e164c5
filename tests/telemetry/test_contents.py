"""What spans say together with their logs, and with what was retrieved for them in their trace."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from evalsvc.telemetry import contents
from evalsvc.telemetry.contents import SpanLink, read_contents
from evalsvc.telemetry.models import Span
from evalsvc.tenancy.scope import account_scope
from tests.caller import Caller
from tests.queries import queries_of
from tests.rules.shapes import answered, list_evaluations, new_rule, run, say, send, send_logs
from tests.telemetry.otlp import NOON, SECOND, log, new_id, span


def at(begin: int, end: int) -> dict[str, Any]:
    return {"startTimeUnixNano": str(NOON + begin * SECOND), "endTimeUnixNano": str(NOON + end * SECOND)}


def retrieved(trace: str, *texts: str, kind: str = "RETRIEVER", parent: str | None = None, **fields: Any) -> Any:
    prefix = "retrieval.documents" if kind == "RETRIEVER" else "reranker.output_documents"
    documents = {f"{prefix}.{i}.document.content": text for i, text in enumerate(texts)}
    return answered(None, trace_id=trace, kind=kind, **documents, **_inside(parent), **fields)


def call_span(trace: str, output: str, parent: str | None = None, **fields: Any) -> Any:
    return answered(output, trace_id=trace, **{"kind": "LLM"} | fields, **_inside(parent))


def _inside(parent: str | None) -> dict[str, str]:
    return {} if parent is None else {"parentSpanId": parent}


def contexts_of(caller: Caller) -> dict[str | None, tuple[str, ...]]:
    """The contexts of all stored spans with an output, by it."""
    with account_scope(caller.account.pk):
        spans = list(Span.objects.filter(account=caller.account.pk))
        return {row.output: tuple(row.contexts) for row in read_contents(caller.account.pk, spans) if row.output}


def test_a_call_has_what_was_retrieved_before_it_the_nearest_first(alice: Caller) -> None:
    trace, (root, first, second) = new_id(), (new_id(8) for _ in range(3))
    send(
        alice,
        call_span(trace, "all", spanId=root, kind="AGENT", **at(0, 20)),
        call_span(trace, "one", root, spanId=first, kind="CHAIN", **at(1, 6)),
        retrieved(trace, "a", "b", parent=first, **at(1, 2)),
        call_span(trace, "call 1", first, **at(2, 5)),
        call_span(trace, "two", root, spanId=second, kind="CHAIN", **at(7, 18)),
        retrieved(trace, "c", "a", parent=second, **at(7, 8)),
        call_span(trace, "call 2", second, **at(9, 12)),
        retrieved(trace, "late", parent=second, **at(13, 14)),
        retrieved(trace, "apart", **at(0, 1)),
    )
    send(alice, call_span(new_id(), "other trace", **at(15, 16)))

    assert contexts_of(alice) == {
        "all": ("late", "c", "a", "b"),
        "one": ("a", "b", "apart"),
        "call 1": ("a", "b", "apart"),
        "two": ("late", "c", "a", "b", "apart"),
        "call 2": ("c", "a", "b", "apart"),
        "other trace": (),
    }


def test_a_reranker_replaces_what_it_was_given(alice: Caller) -> None:
    trace, root = new_id(), new_id(8)
    send(
        alice,
        retrieved(trace, "a", "b", "c", parent=root, **at(0, 1)),
        retrieved(trace, "c", "a", kind="RERANKER", parent=root, **at(1, 2)),
        call_span(trace, "call", root, **at(3, 4)),
        call_span(trace, "own", root, retrieval__documents__0__document__content="its own", **at(3, 4)),
        call_span(trace, "tool", root, kind="TOOL", **at(3, 4)),
    )
    assert contexts_of(alice) == {"call": ("c", "a"), "own": ("its own",), "tool": ()}


def test_what_one_call_gets_is_limited(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_CONTEXT_CHARS", 30)
    monkeypatch.setattr(contents, "MAX_CONTEXTS", 3)
    monkeypatch.setattr(contents, "MAX_RETRIEVALS", 2)
    trace = new_id()
    send(
        alice,
        retrieved(trace, "x" * 31, "1", "2", **at(4, 5)),
        retrieved(trace, "3", "4", **at(3, 4)),
        call_span(trace, "many", **at(6, 7)),
    )
    other = new_id()
    send(alice, *(retrieved(other, f"r{i}", **at(i, i + 1)) for i in range(4)), call_span(other, "few", **at(6, 7)))
    assert contexts_of(alice) == {"many": ("1", "2", "3"), "few": ("r3", "r2")}


def test_spans_within_each_other_in_a_circle_are_read(alice: Caller) -> None:
    trace, (a, b) = new_id(), (new_id(8) for _ in range(2))
    send(alice, call_span(trace, "x", b, spanId=a, **at(2, 3)), retrieved(trace, "doc", parent=a, spanId=b, **at(0, 1)))
    assert contexts_of(alice) == {"x": ("doc",)}


def test_many_traces_take_as_few_queries_as_one(alice: Caller) -> None:
    counts = []
    for n_traces in (1, 10):
        for _ in range(n_traces):
            trace = new_id()
            send(alice, retrieved(trace, "doc", **at(0, 1)), call_span(trace, "x", **at(2, 3)))
        counts.append(len(queries_of(lambda: contexts_of(alice))))
    assert counts[0] == counts[1]


def test_a_rule_sends_the_contexts_and_the_texts_of_logs(alice: Caller) -> None:
    rule, trace, id = new_rule(alice, filter={"kind": "llm"}), new_id(), new_id(8)
    ids = {"traceId": trace, "spanId": id}
    send(alice, retrieved(trace, "a page", **at(0, 1)), call_span(trace, "It is.", **at(2, 3)))
    silent = answered(None, trace_id=trace, spanId=id, kind="LLM", **at(4, 5))
    send(alice, silent, span(new_id()))
    send_logs(alice, say("Later.", **ids))
    run(alice, rule)
    found = {row.request.output: row.request.contexts for row in list_evaluations(alice)}
    assert found == {"It is.": ["a page"], "Later.": ["a page"]}


def test_a_giant_trace_leaves_the_others_their_contexts(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_LINKS", 4)
    monkeypatch.setattr(contents, "MAX_LINKS_READ", 6)
    small, giant = new_id(), new_id()
    send(alice, retrieved(small, "page", **at(0, 1)), call_span(small, "small", **at(2, 3)))
    for i in range(8):
        send(alice, retrieved(giant, f"g{i}", **at(i, i + 1)))
    send(alice, call_span(giant, "giant", **at(9, 10)))
    assert contexts_of(alice) == {"small": ("page",), "giant": ("g7", "g6", "g5")}

    monkeypatch.setattr(contents, "MAX_LINKS_READ", 4)
    assert contexts_of(alice) == {"small": ("page",), "giant": ("g7",)}


def test_logs_are_read_of_the_spans_asked_for_only_and_so_many(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_LOGS", 3)
    trace, (quiet, other, late) = new_id(), (new_id(8) for _ in range(3))
    for id in (quiet, late):
        send(alice, answered(None, trace_id=trace, spanId=id, kind="LLM"))
    send(alice, call_span(trace, "has its own", spanId=other))
    send_logs(alice, say("Late.", traceId=trace, spanId=late))
    send_logs(alice, *(say(f"{i}", traceId=trace, spanId=quiet, timeUnixNano=str(NOON + i * SECOND)) for i in range(5)))
    send_logs(alice, *(log(traceId=trace, spanId=quiet, timeUnixNano=str(NOON + 9 * SECOND)) for i in range(5)))
    send_logs(alice, *(say(f"other {i}", traceId=trace, spanId=other) for i in range(5)))

    n_read = []
    with account_scope(alice.account.pk):
        spans = list(Span.objects.filter(account=alice.account.pk, trace_id=trace))
        load = contents._load_logs
        monkeypatch.setattr(contents, "_load_logs", lambda *given: n_read.append(load(*given)) or n_read[-1])
        found = {
            row.span_id: content for row, content in zip(spans, read_contents(alice.account.pk, spans), strict=True)
        }
    assert {key: len(lines) for key, lines in n_read[0].items()} == {(trace, quiet): 2, (trace, late): 1}
    assert (found[quiet].output, found[late].output, found[other].output) == ("3\n4", "Late.", "has its own")


class CountedTime(datetime):
    """A time that counts how often times are compared."""

    n_compared = 0

    def __lt__(self, other: Any) -> bool:
        CountedTime.n_compared += 1
        return super().__lt__(other)

    def __le__(self, other: Any) -> bool:
        CountedTime.n_compared += 1
        return super().__le__(other)

    def __gt__(self, other: Any) -> bool:
        CountedTime.n_compared += 1
        return super().__gt__(other)


def build_links(n: int) -> dict[str, SpanLink]:
    """A trace of n rerankers and then n retrievers, each a microsecond after the other, under one chain."""
    times = [CountedTime(2026, 1, 1, 0, 0, 0, i, tzinfo=UTC) for i in range(2 * n)]
    kinds = ["reranker"] * n + ["retriever"] * n
    links = [SpanLink(i, "t", f"s{i}", "root", times[i], times[i], kinds[i]) for i in range(2 * n)]
    return {link.span_id: link for link in links} | {
        "root": SpanLink(2 * n, "t", "root", None, times[0], times[-1], "chain")
    }


def test_retrievals_are_chosen_with_few_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    links = build_links(2_000)
    monkeypatch.setattr(contents, "_load_links", lambda *_: {"t": links})
    monkeypatch.setattr(contents, "_load_contexts", lambda _, ids: {id: (f"text {id}",) for id in ids})
    listed, listing = [0], contents._list_ancestors

    def count_ancestors(*given: Any) -> list[str]:
        listed[0] += 1
        return listing(*given)

    monkeypatch.setattr(contents, "_list_ancestors", count_ancestors)
    texts = {"openinference.span.kind": "LLM", "input.value": "Who?", "output.value": "Ada."}
    counts = []
    for n_spans in (1, 21):
        spans = [
            Span(
                id=10**6 + i,
                trace_id="t",
                span_id=f"call {i}",
                attributes=texts,
                events=[],
                name="call",
                started_at=CountedTime(2026, 1, 2, tzinfo=UTC),
            )
            for i in range(n_spans)
        ]
        links |= {
            row.span_id: SpanLink(row.pk, "t", row.span_id, "root", row.started_at, row.started_at, "llm")
            for row in spans
        }
        CountedTime.n_compared = listed[0] = 0
        chosen = read_contents(1, spans)
        assert {content.contexts for content in chosen} == {tuple(f"text {i}" for i in range(3999, 3989, -1))}
        counts.append((CountedTime.n_compared, listed[0]))
    (first, walks), (more, more_walks) = counts
    # Those of the trace are sorted once. The rest is of each span.
    assert first < 4_000 * 20
    assert more - first < 20 * 3 * contents.MAX_NEAR
    assert more_walks - walks == 20


def test_the_latest_within_each_span_are_looked_at(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_NEAR", 2)
    trace, (root, inner) = new_id(), (new_id(8) for _ in range(2))
    send(
        alice,
        call_span(trace, "chain", root, spanId=inner, kind="CHAIN", **at(0, 20)),
        retrieved(trace, "old", parent=inner, **at(0, 1)),
        retrieved(trace, "a", parent=inner, **at(1, 2)),
        retrieved(trace, "b", parent=inner, **at(2, 3)),
        *(retrieved(trace, f"r{i}", parent=root, **at(i, i + 1)) for i in range(3, 6)),
        call_span(trace, "call", inner, **at(9, 10)),
    )
    assert contexts_of(alice) == {"call": ("b", "a", "r5", "r4"), "chain": ("b", "a")}
