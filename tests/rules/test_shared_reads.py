"""Rules of an account that one worker works on read a span that has arrived once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from evalsvc.rules import candidates
from evalsvc.rules.candidates import CandidateSpan, SharedReads
from evalsvc.rules.models import Rule
from evalsvc.rules.refs import FIELDS, SpanRef
from evalsvc.telemetry.models import Span
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.rules.shapes import answered, list_evaluations, new_rule, run, say, send, send_logs
from tests.telemetry.otlp import NOON, SECOND


@pytest.fixture
def n_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many spans each read was about."""
    read, sizes = candidates.read_candidates, list[int]()

    def note(account_id: int, spans: Sequence[Span]) -> list[CandidateSpan]:
        sizes.append(len(spans))
        return read(account_id, spans)

    monkeypatch.setattr(candidates, "read_candidates", note)
    return sizes


def list_refs(caller: Caller) -> list[SpanRef]:
    rows = Span.objects.using("system").filter(account=caller.account).order_by("id")
    return [SpanRef(*row) for row in rows.values_list(*FIELDS)]


def read(caller: Caller, reads: SharedReads, *, log_watermark: int, safe_id: int) -> list[str | None]:
    """The outputs of an account's spans."""
    refs = list_refs(caller)
    with account_scope(caller.account.pk):
        found = reads.read(caller.account.pk, refs, log_watermark=log_watermark, safe_id=safe_id)
    return [row.content.output for row in found]


def test_rules_share_what_has_arrived_and_each_scores_it_once(alice: Caller, n_read: list[int]) -> None:
    rules = [new_rule(alice, name=f"rule {i}") for i in range(3)]
    # What was read for the oldest rule is too old for those that began at later logs.
    rows = Rule.objects.using("system").filter(account=alice.account)
    rows.update(log_watermark=min(rows.values_list("log_watermark", flat=True)))
    send(alice, *(answered(f"Ada {i}.", input=str(i)) for i in range(4)))
    after = [run(alice, rule) for rule in rules]

    assert [rule["n_scored"] for rule in after] == [4, 4, 4]
    assert n_read == [4]
    assert sorted(str(row.request.output) for row in list_evaluations(alice)) == sorted(
        [f"Ada {i}." for i in range(4)] * 3
    )


def test_what_was_read_before_logs_that_a_rule_has_passed_is_read_again(alice: Caller, n_read: list[int]) -> None:
    sent, reads = answered(None, kind="LLM"), SharedReads()
    send(alice, sent)
    assert read(alice, reads, log_watermark=5, safe_id=10) == [None]
    send_logs(alice, say("Ada.", traceId=sent["traceId"], spanId=sent["spanId"]))

    assert read(alice, reads, log_watermark=10, safe_id=20) == [None]
    assert read(alice, reads, log_watermark=11, safe_id=20) == ["Ada."]
    assert read(alice, reads, log_watermark=20, safe_id=30) == ["Ada."]
    assert n_read == [1, 1]


def test_a_later_version_of_a_span_is_read(alice: Caller) -> None:
    sent, reads = answered("Ada."), SharedReads()
    send(alice, sent)
    assert read(alice, reads, log_watermark=0, safe_id=10) == ["Ada."]
    later = answered("Bob.", trace_id=sent["traceId"], spanId=sent["spanId"])
    send(alice, later | {"endTimeUnixNano": str(NOON + 90 * SECOND)})

    assert read(alice, reads, log_watermark=0, safe_id=10) == ["Bob."]


def test_spans_of_another_account_and_deleted_ones_are_not_found(alice: Caller, charlie: Caller) -> None:
    reads = SharedReads()
    send(alice, answered("Ada."))
    refs = list_refs(alice)
    assert read(alice, reads, log_watermark=0, safe_id=10) == ["Ada."]

    with account_scope(charlie.account.pk):
        assert reads.read(charlie.account.pk, refs, log_watermark=0, safe_id=10) == []
    Span.objects.using("system").filter(account=alice.account).delete()
    with account_scope(alice.account.pk):
        assert reads.read(alice.account.pk, refs, log_watermark=0, safe_id=10) == []


def test_what_is_kept_is_no_longer_than_a_portion(
    alice: Caller, n_read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = SharedReads()
    send(alice, answered("Ada."), answered("Bob."), answered("Eve."))
    monkeypatch.setattr(candidates, "PORTION_BYTES", sum(ref.n_bytes for ref in list_refs(alice)[:2]))
    for _ in range(2):
        assert sorted(map(str, read(alice, reads, log_watermark=0, safe_id=10))) == ["Ada.", "Bob.", "Eve."]
    assert n_read == [3, 1]
