"""What a rule reads: the spans that arrive, or the evaluations that are finished."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import add
from typing import Any

from django.db.models import F, Func, IntegerField, Q, QuerySet
from django.db.models.functions import Coalesce

from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.rules import candidates, evaluations
from evalsvc.rules.bodies import RuleFilter
from evalsvc.rules.candidates import is_match, read_candidates, shared_reads
from evalsvc.rules.evaluations import Candidate, load_refs, read_evaluations
from evalsvc.rules.models import Rule, RuleBackfill
from evalsvc.rules.refs import FIELDS, Ref, SpanRef
from evalsvc.telemetry.models import Span
from evalsvc.tenancy.scope import moment_at

PAGE = 500
"""Spans or evaluations that are looked at by their ids."""
TEXTS = ("input", "output", "contexts", "gold", "system_prompt", "extras")


def _measure(name: str) -> Coalesce:
    return Coalesce(Func(F(name), function="pg_column_size", output_field=IntegerField()), 0)


N_BYTES = reduce(add, map(_measure, TEXTS))
"""Of the texts of a call as they are stored."""


class RuleSource(ABC):
    """What an account has of a source that a filter is about. Within the account's scope."""

    time: str
    """The column of its time, by which backfills go."""

    def __init__(self, account_id: int, wanted: RuleFilter) -> None:
        self._account_id, self._wanted = account_id, wanted

    @abstractmethod
    def list_rows(self) -> QuerySet[Any]:
        """Return what the columns can tell of the filter."""

    @abstractmethod
    def list_newest(self) -> QuerySet[Any]:
        """Return the ids of what the columns can tell of the filter, the newest first."""

    @abstractmethod
    def load_arrived(self, watermark: int, last: Ref | None) -> Sequence[Ref]:
        """Return the next page of what has arrived since a watermark, or since the last one."""

    @abstractmethod
    def read_matching(self, ids: Sequence[int]) -> Sequence[Candidate]:
        """Return those of some ids that match, with their texts."""

    def read_arrived(self, refs: Sequence[Any], *, log_watermark: int, safe_id: int) -> Sequence[Candidate]:
        """Return what has arrived and matches, with its texts, which rules of one account may share."""
        return self.read_matching([ref.id for ref in refs])

    @abstractmethod
    def _load(self, rows: QuerySet[Any]) -> Sequence[Ref]:
        """Return the first page of a query."""

    def load_range(self, backfill: RuleBackfill) -> Sequence[Ref]:
        """Return the next page of a backfill, in the order of time."""
        rows = self.list_rows().filter(
            **{f"{self.time}__gte": backfill.starts_at, f"{self.time}__lt": backfill.ends_at}
        )
        if backfill.cursor_at is not None:
            rows = rows.filter(self._build_later(backfill.cursor_at, backfill.cursor_id))
        return self._load(rows.order_by(self.time, "id"))

    def _build_later(self, moment: datetime, id: int | None) -> Q:
        later = Q(**{f"{self.time}__gt": moment}) | Q(**{self.time: moment, "id__gt": id})
        return Q(**{f"{self.time}__gte": moment}) & later


class SpanSource(RuleSource):
    """Spans."""

    time = "started_at"

    def list_rows(self) -> QuerySet[Any]:
        """Return spans, without those of experiments."""
        return Span.objects.filter(candidates.build_condition(self._wanted), account=self._account_id)

    def list_newest(self) -> QuerySet[Any]:
        """Return the ids of spans in the order of their arrival."""
        return self.list_rows().order_by("-id").values_list("id", flat=True)

    def load_arrived(self, watermark: int, last: Ref | None) -> Sequence[Ref]:
        """Return spans in the order of their ids."""
        return self._load(self.list_rows().filter(id__gt=last.id if last else watermark).order_by("id"))

    def read_matching(self, ids: Sequence[int]) -> Sequence[Candidate]:
        """Return spans with what they say."""
        spans = list(Span.objects.filter(account=self._account_id, id__in=ids).order_by("id"))
        return [row for row in read_candidates(self._account_id, spans) if is_match(self._wanted, row)]

    def read_arrived(self, refs: Sequence[SpanRef], *, log_watermark: int, safe_id: int) -> Sequence[Candidate]:
        """Return spans with what they say, which another rule may have read before."""
        found = shared_reads.read(self._account_id, refs, log_watermark=log_watermark, safe_id=safe_id)
        return [row for row in found if is_match(self._wanted, row)]

    def _load(self, rows: QuerySet[Any]) -> Sequence[Ref]:
        return [SpanRef(*row) for row in rows.values_list(*FIELDS)[:PAGE]]


class EvaluationSource(RuleSource):
    """Finished calls of POST /v1/evaluate."""

    time = "completed_at"

    def list_rows(self) -> QuerySet[Any]:
        """Return calls that neither a rule nor an experiment has made."""
        return EvaluationRequest.objects.filter(evaluations.build_condition(self._wanted), account=self._account_id)

    def list_newest(self) -> QuerySet[Any]:
        """Return the ids of calls in the order in which they were finished."""
        return self.list_rows().order_by("-completed_at", "-id").values_list("id", flat=True)

    def load_arrived(self, watermark: int, last: Ref | None) -> Sequence[Ref]:
        """Return calls in the order in which they were finished."""
        since = self._build_later(last.moment, last.id) if last else Q(completed_at__gte=moment_at(watermark))
        return self._load(self.list_rows().filter(since).order_by("completed_at", "id"))

    def read_matching(self, ids: Sequence[int]) -> Sequence[Candidate]:
        """Return calls with their texts and verdicts."""
        return [row for row in read_evaluations(self._account_id, ids) if row.is_fit(self._wanted)]

    def _load(self, rows: QuerySet[Any]) -> Sequence[Ref]:
        return load_refs(self._account_id, rows.annotate(n_bytes=N_BYTES)[:PAGE])


def build_source(source: str, account_id: int, wanted: RuleFilter) -> RuleSource:
    """Return what a rule of this source reads."""
    return (EvaluationSource if source == Rule.Source.EVALUATIONS else SpanSource)(account_id, wanted)
