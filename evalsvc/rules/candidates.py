"""Which spans a filter means: a part in SQL, and the rest by the reader of spans."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from evalsvc.rules.bodies import SpanFilter
from evalsvc.rules.refs import FIELDS, PORTION_BYTES, SpanRef, name_unit
from evalsvc.telemetry import contents as telemetry_contents
from evalsvc.telemetry.attributes import EVALUATION_EVENT, find_kind
from evalsvc.telemetry.contents import MAX_DEPTH, Key, build_kind_condition
from evalsvc.telemetry.models import Span
from evalsvc.telemetry.reader import SpanContent, read_span

OURS = "evalsvc"
EVALUATOR = "evaluator"
STATUSES = {"unset": 0, "ok": 1, "error": 2}
OF_EVALUATOR = build_kind_condition(EVALUATOR)


@dataclass(frozen=True, slots=True)
class CandidateSpan:
    """A span with what it says, and the probability with which it was drawn."""

    span: Span
    content: SpanContent
    probability: float = 1.0

    @property
    def key(self) -> Key:
        """Return how the row of a rule knows it."""
        return self.span.trace_id, self.span.span_id

    @property
    def ended_at(self) -> Any:
        """Return when it ended: a version that ends later replaces it."""
        return self.span.ended_at

    def get_unit(self, by: str) -> str:
        """Return what is drawn with it."""
        return name_unit(by, self.span.trace_id, self.span.conversation_id)

    def is_fit(self, wanted: SpanFilter) -> bool:
        """Return whether it meets all of a filter."""
        return is_fit(wanted, self)


def build_condition(wanted: SpanFilter) -> Q:
    """Return what SQL can tell of a filter. Spans of experiments are left out: the experiment scores them."""
    condition = Q(experiment_id=None)
    for column, values in (
        ("service_name", wanted.service_name),
        ("name", wanted.span_name),
        ("app", wanted.app),
        ("status_code", [STATUSES[status] for status in list_values(wanted.status)]),
    ):
        if listed := list_values(values):
            condition &= Q(**{f"{column}__in": listed})
    return condition & Q(attributes__contains=wanted.attributes) if wanted.attributes else condition


def is_match(wanted: SpanFilter, candidate: CandidateSpan) -> bool:
    """Return whether a span meets what SQL did not tell."""
    content = candidate.content
    if wanted.kind is not None and content.kind not in list_values(wanted.kind):
        return False
    if wanted.model is not None and content.model not in list_values(wanted.model):
        return False
    if wanted.text is None:
        return True
    text = wanted.text.casefold()
    return any(text in side.casefold() for side in (content.input, content.output) if side)


def is_fit(wanted: SpanFilter, candidate: CandidateSpan) -> bool:
    """Return whether a span meets all of a filter."""
    span = candidate.span
    columns = (
        (span.service_name, wanted.service_name),
        (span.name, wanted.span_name),
        (span.app, wanted.app),
        (span.status_code, [STATUSES[status] for status in list_values(wanted.status)] or None),
    )
    if any(values is not None and value not in list_values(values) for value, values in columns):
        return False
    sent = span.attributes if isinstance(span.attributes, dict) else {}
    # To Python True is 1.
    attributes = [(sent.get(name), value) for name, value in (wanted.attributes or {}).items()]
    if any(isinstance(found, bool) is not isinstance(value, bool) or found != value for found, value in attributes):
        return False
    return is_match(wanted, candidate)


def list_values(values: Any) -> Sequence[Any]:
    """Return the values of a condition, which may be a single one."""
    return [] if values is None else values if isinstance(values, list) else [values]


def read_candidates(account_id: int, spans: Sequence[Span]) -> list[CandidateSpan]:
    """Return spans with what they say, without those that an evaluator has sent. Within the account's scope."""
    own = find_own(account_id, spans)
    return read_contents(account_id, [span for span in spans if span.pk not in own])


class SharedReads(threading.local):
    """The spans that a worker has read last, for the other rules of their account that score the same ones."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, SpanRef], tuple[int, CandidateSpan | None]] = {}
        self._n_bytes = 0

    def read(
        self, account_id: int, refs: Sequence[SpanRef], *, log_watermark: int, safe_id: int
    ) -> list[CandidateSpan]:
        """Return what `read_candidates` would. A span that another rule has read is only looked up, not read again.

        `safe_id` is up to which id all logs are visible now. A rule takes what was read when all logs up to its
        `log_watermark` were: it looks at the later ones itself, and reads their spans again.
        """
        keys = [(account_id, ref) for ref in refs]
        known = {
            key: self._found[key][1] for key in keys if key in self._found and self._found[key][0] >= log_watermark
        }
        if known:
            # They may have been deleted or replaced since.
            rows = Span.objects.filter(account=account_id, id__in=[ref.id for _, ref in known]).values_list(*FIELDS)
            current = {(account_id, SpanRef(*row)) for row in rows}
            known = {key: candidate for key, candidate in known.items() if key in current}
        missing = {ref.id: (account_id, ref) for _, ref in keys if (account_id, ref) not in known}
        if missing:
            spans = list(Span.objects.filter(account=account_id, id__in=list(missing)))
            candidates = {row.span.pk: row for row in read_candidates(account_id, spans)}
            for span in spans:
                known[missing[span.pk]] = candidates.get(span.pk)
                self._keep(missing[span.pk], safe_id, candidates.get(span.pk))
        return [row for key in keys if (row := known.get(key)) is not None]

    def _keep(self, key: tuple[int, SpanRef], safe_id: int, candidate: CandidateSpan | None) -> None:
        """Keep a span in place of the oldest: together they are no longer than a portion."""
        if self._found.pop(key, None) is not None:
            self._n_bytes -= key[1].n_bytes
        self._found[key] = safe_id, candidate
        self._n_bytes += key[1].n_bytes
        while self._n_bytes > PORTION_BYTES:
            oldest = next(iter(self._found))
            del self._found[oldest]
            self._n_bytes -= oldest[1].n_bytes


shared_reads = SharedReads()


def read_contents(account_id: int, spans: Sequence[Span]) -> list[CandidateSpan]:
    """Return all spans with what they say. Within the account's scope."""
    contents = telemetry_contents.read_contents(account_id, spans)
    return [CandidateSpan(span, content) for span, content in zip(spans, contents, strict=True)]


def find_own(account_id: int, spans: Sequence[Span]) -> set[int]:
    """Return the ids of the spans that evaluators have sent, or that ran within one: a rule never scores itself.

    Spans that are still going on, as logfire sends them, are left out too.
    """
    own = {span.pk for span in spans if is_of_evaluator(span) or _is_unfinished(span)}
    inner = [span for span in spans if span.pk not in own and span.parent_span_id]
    if not inner:
        return own
    parents, evaluators = _load_parents(account_id, {span.trace_id for span in inner})
    if not evaluators:
        return own
    return own | {span.pk for span in inner if _is_within(span, parents, evaluators)}


def is_of_evaluator(span: Span) -> bool:
    """Return whether a span is of an evaluator, or of this service."""
    attributes = span.attributes if isinstance(span.attributes, dict) else {}
    if find_kind(attributes) == EVALUATOR or OURS in ((span.scope_name or "").split(".")[0], span.service_name):
        return True
    events = span.events if isinstance(span.events, list) else []
    has_score = any(isinstance(event, dict) and event.get("name") == EVALUATION_EVENT for event in events)
    # A call that says what it is, or what it answered, brings the score that somebody gave it.
    return has_score and not find_kind(attributes) and read_span(attributes, events, name=span.name).output is None


def _is_unfinished(span: Span) -> bool:
    return isinstance(span.attributes, dict) and span.attributes.get("logfire.span_type") == "pending_span"


def _load_parents(account_id: int, trace_ids: set[str]) -> tuple[dict[Key, str | None], set[Key]]:
    """Return the parents of the spans of some traces, and which spans are of evaluators."""
    rows = Span.objects.filter(account=account_id, trace_id__in=trace_ids)
    evaluators = set(rows.filter(OF_EVALUATOR).values_list("trace_id", "span_id"))
    if not evaluators:
        return {}, evaluators
    links = rows.values_list("trace_id", "span_id", "parent_span_id")
    return {(trace_id, span_id): parent for trace_id, span_id, parent in links}, evaluators


def _is_within(span: Span, parents: dict[Key, str | None], evaluators: set[Key]) -> bool:
    parent = span.parent_span_id
    for _ in range(MAX_DEPTH):
        if parent is None:
            return False
        if (span.trace_id, parent) in evaluators:
            return True
        parent = parents.get((span.trace_id, parent))
    return False
