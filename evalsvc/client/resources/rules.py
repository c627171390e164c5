"""`client.rules`: rules that score live spans, or evaluations again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from evalsvc.client.service.evaluators import Evaluators, build_evaluator_entry, normalise_evaluators
from evalsvc.client.service.transport import Transport
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject, to_iso, to_json_object

PATH = "/v1/rules"
ROWS_A_PAGE = 200


@dataclass(frozen=True, kw_only=True)
class ScoringRuleRecord(ServiceObject):
    """A rule for live spans or evaluations, and how many it has scored and dropped."""

    id: str
    name: str
    state: str
    revision: int
    source: str = "spans"
    filter: Mapping[str, Any] = field(default_factory=dict)
    mapping: Mapping[str, Any] = field(default_factory=dict)
    evaluators: Sequence[Mapping[str, Any]] = ()
    sampling: Mapping[str, Any] = field(default_factory=dict)
    cap_per_hour: int | None = None
    budget_per_day: float | None = None
    spent_today: float | None = None
    app: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    n_scored: int = 0
    n_dropped: Mapping[str, int] = field(default_factory=dict)
    complete_until: str = ""
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, kw_only=True)
class RulePreviewRecord(ServiceObject):
    """The newest spans or evaluations that match: each with its `sample`, or with the `reason` why it has none."""

    spans: Sequence[Mapping[str, Any]] = ()
    n_read: int = 0


@dataclass(frozen=True, kw_only=True)
class RuleSpanRecord(ServiceObject):
    """A span or evaluation that a rule has drawn. Its scores have the `request_id`; without one, `reason` says why.

    An evaluation is known by `evaluated_request_id`, a span by `trace_id` and `span_id`.
    """

    revision: int
    probability: float
    trace_id: str | None = None
    span_id: str | None = None
    evaluated_request_id: str | None = None
    request_id: str | None = None
    reason: str | None = None
    detail: str | None = None
    created_at: str = ""


@dataclass(frozen=True, kw_only=True)
class BackfillRecord(ServiceObject):
    """A rule on the spans that began, or evaluations that were finished, from `since` up to `until`."""

    id: str
    state: str
    since: str
    until: str
    n_scored: int = 0
    n_dropped: int = 0
    created_at: str = ""
    finished_at: str | None = None


class RulesApi:
    """Calls of `/v1/rules`. Where a rule is named, its id or a `ScoringRuleRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self, name: str, evaluators: Evaluators, *, filter: Mapping[str, object] | None = None, **options: object
    ) -> ScoringRuleRecord:
        """Create a rule for spans that arrive, or evaluations that are finished, from now on and match the filter.

        `options` are `source`, `mapping`, `sampling`, `cap_per_hour`, `budget_per_day`, `app`,
        `tags` and `state`, as in the API.
        """
        body = {"name": name, **_build_parts(evaluators, filter), **to_json_object(options)}
        return _rule(self._transport.post(PATH, body))

    def list(self) -> Listing[ScoringRuleRecord]:
        """Return rules, newest first."""
        pages, params = self._transport.pages, {"limit": ROWS_A_PAGE}
        return Listing(lambda: map(ScoringRuleRecord.read, pages(PATH, "rules", params)))

    def get(self, rule: str | ScoringRuleRecord) -> ScoringRuleRecord:
        """Return a rule, with what it has scored and dropped."""
        return _rule(self._transport.get(f"{PATH}/{get_id(rule)}"))

    def update(
        self,
        rule: str | ScoringRuleRecord,
        *,
        evaluators: Evaluators | None = None,
        filter: Mapping[str, object] | None = None,
        **changes: object,
    ) -> ScoringRuleRecord:
        """Change a rule; `state="paused"` pauses it, and `"active"` resumes it. What is left out stays.

        `cap_per_hour=None` ends the cap, and `budget_per_day=None` the budget.
        """
        body = {**_build_parts(evaluators, filter), **to_json_object(changes)}
        return _rule(self._transport.patch(f"{PATH}/{get_id(rule)}", body))

    def delete(self, rule: str | ScoringRuleRecord) -> None:
        """Delete a rule with the list of what it has drawn; its scores stay."""
        self._transport.call("DELETE", f"{PATH}/{get_id(rule)}")

    def preview(
        self,
        filter: Mapping[str, object] | None = None,
        *,
        evaluators: Evaluators | None = None,
        mapping: Mapping[str, object] | None = None,
        source: str | None = None,
    ) -> RulePreviewRecord:
        """Return the newest ten spans or evaluations that match, with what evaluators would read. Nothing is stored."""
        body = _build_parts(evaluators, filter)
        body |= {} if mapping is None else {"mapping": to_json_object(mapping)}
        body |= {} if source is None else {"source": source}
        return RulePreviewRecord.read(self._transport.post(f"{PATH}/preview", body))

    def backfill(self, rule: str | ScoringRuleRecord, since: str | datetime, until: str | datetime) -> BackfillRecord:
        """Start to score what is stored from `since` up to `until`, which have a time zone.

        Spans count by their begin, evaluations by their end.
        """
        body = {"since": to_iso(since), "until": to_iso(until)}
        return BackfillRecord.read(self._transport.post(f"{PATH}/{get_id(rule)}/backfill", body)["backfill"])

    def backfills(self, rule: str | ScoringRuleRecord) -> Listing[BackfillRecord]:
        """Return the backfills of a rule, newest first, with how far each has come."""
        path, params = f"{PATH}/{get_id(rule)}/backfill", {"limit": ROWS_A_PAGE}
        return Listing(lambda: map(BackfillRecord.read, self._transport.pages(path, "backfills", params)))

    def spans(self, rule: str | ScoringRuleRecord, reason: str | None = None) -> Listing[RuleSpanRecord]:
        """Return what a rule has drawn, newest first: all, or what was dropped for a `reason`."""
        path, params = f"{PATH}/{get_id(rule)}/spans", {"reason": reason, "limit": ROWS_A_PAGE}
        return Listing(lambda: map(RuleSpanRecord.read, self._transport.pages(path, "spans", params)))


def _rule(answer: JsonObject) -> ScoringRuleRecord:
    return ScoringRuleRecord.read(answer["rule"])


def _build_parts(evaluators: Evaluators | None, filter: Mapping[str, object] | None) -> dict[str, object]:
    entries = None if evaluators is None else [*map(build_evaluator_entry, normalise_evaluators(evaluators))]
    parts = {"evaluators": entries, "filter": None if filter is None else to_json_object(filter)}
    return {name: value for name, value in parts.items() if value is not None}
