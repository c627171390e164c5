"""Verbs: add stored spans to a dataset, each once, with the sample that a preview shows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q

from evalsvc.accounts.models import Account
from evalsvc.datasets.extension import add_to_target, lock_target, repeat_if_taken
from evalsvc.datasets.importers.reader import read_examples
from evalsvc.datasets.models import Dataset, DatasetVersion, Example
from evalsvc.datasets.selectors import get_version
from evalsvc.rest.answering.pagination import TimeCursor
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.rules.bodies import Sampling, SpanFilter, SpanMapping
from evalsvc.rules.candidates import CandidateSpan, build_condition, is_match, read_candidates, read_contents
from evalsvc.rules.models import RuleSpan
from evalsvc.rules.refs import FIELDS, PORTION, SpanRef, cut_portions
from evalsvc.rules.samples import describe_problem
from evalsvc.rules.sampling import draw_candidates, may_be_drawn
from evalsvc.rules.selectors import PreviewedSpan, preview_span
from evalsvc.telemetry.models import Span
from evalsvc.telemetry.selectors import TIMEOUT_SECONDS
from evalsvc.tenancy.scope import account_scope

MAX_READ_SPANS, MAX_READ_BYTES = 5_000, 64 * 1024 * 1024
"""Spans of one call, the newest first: some seconds of CPU time."""
IN_METADATA = {"output": "evaluated_model_output", "system_prompt": "system_prompt", "conversation": "conversation"}
"""The fields of a sample that an example has in its metadata, with their names there."""


@dataclass(frozen=True, slots=True)
class SpanQuery:
    """Which spans, the newest first: those that began from `since` up to `until`, match, and are drawn.

    `after` is the last span that a call before has read.
    """

    filter: SpanFilter
    mapping: SpanMapping
    sampling: Sampling
    since: datetime | None
    until: datetime | None
    limit: int
    after: TimeCursor | None = None


@dataclass(slots=True)
class SpanAdditions:
    """The spans that a query has found: new examples, those that the dataset has, and those without a sample.

    `last` is the last span that was read, after which the next call goes on; None where all were read.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    n_unchanged: int = 0
    left_out: list[PreviewedSpan] = field(default_factory=list)
    n_read: int = 0
    last: TimeCursor | None = None

    def count_left_out(self) -> dict[str, int]:
        """Return how many have no sample, by reason."""
        return dict(Counter(str(row.reason) for row in self.left_out))

    def add(self, previewed: PreviewedSpan, content: CandidateSpan) -> None:
        """Add a span as an example, or leave it out."""
        if previewed.sample is not None:
            record = build_record(content, previewed.sample)
            detail = _find_fault(record)
            if detail is None:
                self.records.append(record)
                return
            previewed = PreviewedSpan(content, None, RuleSpan.Reason.INVALID, detail)
        self.left_out.append(previewed)


def build_key(trace_id: str, span_id: str) -> str:
    """Return the id of the example that a span becomes."""
    return f"{trace_id}-{span_id}"


def build_record(candidate: CandidateSpan, sample: dict[str, Any]) -> dict[str, Any]:
    """Return a span as an example in the form of uploads; its metadata says where it came from."""
    span = candidate.span
    metadata = {name: sample.get(field) for field, name in IN_METADATA.items()} | {
        "model": candidate.content.model,
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "span_name": span.name,
        "app": span.app,
        "service_name": span.service_name,
        "started_at": span.started_at.isoformat(),
    }
    return {
        "id": build_key(span.trace_id, span.span_id),
        "input": sample.get("input", ""),
        "expected": sample.get("gold_answer", sample.get("reference")),
        "contexts": sample.get("contexts"),
        "metadata": {name: value for name, value in metadata.items() if value is not None},
    }


def _find_fault(record: dict[str, Any]) -> str | None:
    try:
        list(read_examples([record]))
    except Invalid as problem:
        return describe_problem(problem)
    return None


@repeat_if_taken
def add_matching_spans(
    *, account: Account, dataset: Dataset | str, query: SpanQuery, actor: str
) -> tuple[DatasetVersion, bool, SpanAdditions]:
    """Add the newest matching spans that a dataset does not have; one that is named and not there is created.

    Returns the newest version, whether it is new, and what became of the spans. Raises Invalid where a new dataset
    would be empty, and Problem `search_too_slow`.
    """
    with account_scope(account.pk):
        target = lock_target(account, dataset)
        additions = _collect(account, target, query)
        version, is_new = _add(account, target, additions, actor)
    return version, is_new, additions


@repeat_if_taken
def add_span(
    *, account: Account, dataset: Dataset | str, span: Span, actor: str
) -> tuple[DatasetVersion, SpanAdditions]:
    """Add one span that a person has chosen, as above; returns the newest version, and what became of the span."""
    additions = SpanAdditions(n_read=1)
    with account_scope(account.pk):
        target = lock_target(account, dataset)
        (candidate,) = read_contents(account.pk, [span])
        if _list_stored(account, target, [build_key(span.trace_id, span.span_id)]):
            additions.n_unchanged = 1
        else:
            additions.add(preview_span(candidate, SpanMapping()), candidate)
        version, _ = _add(account, target, additions, actor)
    return version, additions


def _add(account: Account, target: Dataset | str, additions: SpanAdditions, actor: str) -> tuple[DatasetVersion, bool]:
    if isinstance(target, str) and not additions.records:
        raise Invalid(FieldError("", describe_nothing(additions)))
    return add_to_target(account=account, target=target, examples=additions.records, actor=actor)


def describe_nothing(additions: SpanAdditions) -> str:
    """Return why nothing is added to a new dataset."""
    if not additions.left_out:
        return "No spans match."
    counts = "; ".join(f"{n} {reason}" for reason, n in additions.count_left_out().items())
    return f"No span can be added: {counts}. The newest: {additions.left_out[0].detail}"


def _collect(account: Account, target: Dataset | str, query: SpanQuery) -> SpanAdditions:
    additions, n_bytes = SpanAdditions(last=query.after), 0
    with in_time(TIMEOUT_SECONDS, what="The search"):
        while refs := _load_refs(account, query, additions.last):
            for portion in cut_portions(refs):
                found = _read_matching(account, query, portion)
                stored = _list_stored(account, target, [build_key(ref.trace_id, ref.span_id) for ref in portion])
                for ref in portion:
                    if _is_full(query, additions, n_bytes):
                        return additions
                    additions.n_read += 1
                    n_bytes += ref.n_bytes
                    additions.last = TimeCursor(ref.started_at, ref.id)
                    if (candidate := found.get(ref.id)) is None:
                        continue
                    if build_key(ref.trace_id, ref.span_id) in stored:
                        additions.n_unchanged += 1
                    else:
                        additions.add(preview_span(candidate, query.mapping), candidate)
    additions.last = None
    return additions


def _is_full(query: SpanQuery, additions: SpanAdditions, n_bytes: int) -> bool:
    return len(additions.records) >= query.limit or additions.n_read >= MAX_READ_SPANS or n_bytes >= MAX_READ_BYTES


def _load_refs(account: Account, query: SpanQuery, last: TimeCursor | None) -> list[SpanRef]:
    rows = Span.objects.filter(build_condition(query.filter), account=account)
    if query.since is not None:
        rows = rows.filter(started_at__gte=query.since)
    if query.until is not None:
        rows = rows.filter(started_at__lt=query.until)
    if last is not None:
        rows = rows.filter(Q(started_at__lt=last.moment) | Q(id__lt=last.last_id), started_at__lte=last.moment)
    return [SpanRef(*row) for row in rows.order_by("-started_at", "-id").values_list(*FIELDS)[:PORTION]]


def _read_matching(account: Account, query: SpanQuery, portion: Sequence[SpanRef]) -> dict[int, CandidateSpan]:
    drawn = [ref.id for ref in portion if may_be_drawn(account.pk, query.sampling, ref)]
    spans = list(Span.objects.filter(account=account, id__in=drawn))
    candidates = [row for row in read_candidates(account.pk, spans) if is_match(query.filter, row)]
    return {candidate.span.pk: candidate for candidate in draw_candidates(account.pk, query.sampling, candidates)}


def _list_stored(account: Account, target: Dataset | str, keys: Iterable[str]) -> set[str]:
    if isinstance(target, str):
        return set()
    version = get_version(account=account, dataset_id=target.pk)
    return set(Example.objects.filter(account=account, version=version, key__in=keys).values_list("key", flat=True))
