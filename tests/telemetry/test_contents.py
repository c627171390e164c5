"""What spans say together with their logs, and with what was retrieved for them in their trace."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.telemetry import contents
from evalsvc.telemetry.contents import read_contents
from evalsvc.telemetry.models import Span
from evalsvc.tenancy.scope import account_scope
from tests.caller import Caller
from tests.queries import queries_of
from tests.rules.shapes import answered, list_evaluations, new_rule, run, say, send, send_logs
from tests.telemetry.otlp import NOON, SECOND, new_id, span


def at(begin: int, end: int) -> dict[str, Any]:
    return {"startTimeUnixNano": str(NOON + begin * SECOND), "endTimeUnixNano": str(NOON + end * SECOND)}


def retrieved(trace: str, *texts: str, kind: str = "RETRIEVER", parent: str | None = None, **fields: Any) -> Any:
    prefix = "retrieval.documents" if kind == "RETRIEVER" else "reranker.output_documents"
    documents = {f"{prefix}.{i}.document.content": text for i, text in enumerate(texts)}
    return answered(None, trace_id=trace, kind=kind, **documents, **_inside(parent), **fields)


def asked(trace: str, output: str, parent: str | None = None, **fields: Any) -> Any:
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
        asked(trace, "all", spanId=root, kind="AGENT", **at(0, 20)),
        asked(trace, "one", root, spanId=first, kind="CHAIN", **at(1, 6)),
        retrieved(trace, "a", "b", parent=first, **at(1, 2)),
        asked(trace, "call 1", first, **at(2, 5)),
        asked(trace, "two", root, spanId=second, kind="CHAIN", **at(7, 18)),
        retrieved(trace, "c", "a", parent=second, **at(7, 8)),
        asked(trace, "call 2", second, **at(9, 12)),
        retrieved(trace, "late", parent=second, **at(13, 14)),
        retrieved(trace, "apart", **at(0, 1)),
    )
    send(alice, asked(new_id(), "other trace", **at(15, 16)))

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
        asked(trace, "call", root, **at(3, 4)),
        asked(trace, "own", root, retrieval__documents__0__document__content="its own", **at(3, 4)),
        asked(trace, "tool", root, kind="TOOL", **at(3, 4)),
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
        asked(trace, "many", **at(6, 7)),
    )
    other = new_id()
    send(alice, *(retrieved(other, f"r{i}", **at(i, i + 1)) for i in range(4)), asked(other, "few", **at(6, 7)))
    assert contexts_of(alice) == {"many": ("1", "2", "3"), "few": ("r3", "r2")}


def test_spans_within_each_other_in_a_circle_are_read(alice: Caller) -> None:
    trace, (a, b) = new_id(), (new_id(8) for _ in range(2))
    send(alice, asked(trace, "x", b, spanId=a, **at(2, 3)), retrieved(trace, "doc", parent=a, spanId=b, **at(0, 1)))
    assert contexts_of(alice) == {"x": ("doc",)}


def test_many_traces_take_as_few_queries_as_one(alice: Caller) -> None:
    counts = []
    for n_traces in (1, 10):
        for _ in range(n_traces):
            trace = new_id()
            send(alice, retrieved(trace, "doc", **at(0, 1)), asked(trace, "x", **at(2, 3)))
        counts.append(len(queries_of(lambda: contexts_of(alice))))
    assert counts[0] == counts[1]


def test_a_rule_sends_the_contexts_and_the_texts_of_logs(alice: Caller) -> None:
    rule, trace, id = new_rule(alice, filter={"kind": "llm"}), new_id(), new_id(8)
    ids = {"traceId": trace, "spanId": id}
    send(alice, retrieved(trace, "a page", **at(0, 1)), asked(trace, "It is.", **at(2, 3)))
    silent = answered(None, trace_id=trace, spanId=id, kind="LLM", **at(4, 5))
    send(alice, silent, span(new_id()))
    send_logs(alice, say("Later.", **ids))
    run(alice, rule)
    found = {row.request.output: row.request.contexts for row in list_evaluations(alice)}
    assert found == {"It is.": ["a page"], "Later.": ["a page"]}
