"""What the API says of rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, build_enum, build_shape
from evalsvc.rules.bodies import Sampling
from evalsvc.rules.budget import sum_spend
from evalsvc.rules.candidates import CandidateSpan
from evalsvc.rules.models import Rule, RuleBackfill, RuleSpan
from evalsvc.rules.readers import read_sampling
from evalsvc.rules.scorer import COUNTERS
from evalsvc.rules.selectors import PreviewedSpan
from evalsvc.tenancy.scope import moment_at

Word = Annotated[str, build_enum(RuleSpan.Reason.values)]
Evaluated = Annotated[str | None, Meta(description="The evaluation: GET /v1/evaluate/{id}; null for a span.")]


class DroppedSpans(AnswerShape):
    """Spans or evaluations that were drawn and not scored, by the reason."""

    over_cap: Annotated[int, Meta(description="More than `cap_per_hour`.")]
    budget: Annotated[int, Meta(description="More than what was left of `budget_per_day`.")]
    no_output: Annotated[int, Meta(description="Without an output and a conversation.")]
    unreadable: Annotated[int, Meta(description="With messages that cannot be read.")]
    invalid: Annotated[int, Meta(description="Refused as an evaluation, for example as too long.")]


class RuleOut(AnswerShape):
    """A rule, and what it has done."""

    id: str
    name: str
    state: Annotated[str, build_enum(Rule.State.values)]
    revision: int
    source: Annotated[str, build_enum(Rule.Source.values)]
    filter: Json
    mapping: Json
    evaluators: Json
    sampling: Sampling
    cap_per_hour: int | None
    budget_per_day: float | None
    spent_today: Annotated[
        float | None,
        Meta(description="Money for its judges since midnight UTC, with what is set aside; null: no budget."),
    ]
    app: str | None
    tags: dict[str, str]
    n_scored: Annotated[int, Meta(description="Spans or evaluations with a score.")]
    n_dropped: DroppedSpans
    complete_until: Annotated[Moment, Meta(description="What arrived, or was finished, before is done.")]
    created_at: Moment
    updated_at: Moment


class RuleAnswer(AnswerShape):
    """One rule."""

    rule: RuleOut


class RulePage(AnswerShape):
    """Rules, the newest first."""

    rules: list[RuleOut]
    next_cursor: str | None


class RulePreviewSpan(AnswerShape):
    """A span or evaluation that matches: the `sample` that evaluators would read, or why there is none."""

    trace_id: str | None
    span_id: str | None
    evaluated_request_id: Evaluated
    name: Annotated[str, Meta(description="Of the span; of an evaluation, its evaluators.")]
    started_at: Moment
    sample: Json
    reason: Word | None
    detail: str | None


class RulePreview(AnswerShape):
    """The newest spans or evaluations that match a filter."""

    spans: list[RulePreviewSpan]
    n_read: Annotated[int, Meta(description="How many were read to find them; at most 500.")]


class RuleSpanOut(AnswerShape):
    """A span or evaluation that a rule has drawn."""

    trace_id: str | None
    span_id: str | None
    evaluated_request_id: Evaluated
    revision: int
    probability: Annotated[float, Meta(description="With which the rule draws a span like this one.")]
    request_id: Annotated[str | None, Meta(description="Its evaluations: GET /v1/evaluate/{id}.")]
    reason: Word | None
    detail: str | None
    created_at: Moment


class RuleSpanPage(AnswerShape):
    """What a rule has drawn, the newest first."""

    spans: list[RuleSpanOut]
    next_cursor: str | None


class BackfillOut(AnswerShape):
    """A rule on stored spans or evaluations."""

    id: str
    state: Annotated[str, build_enum(RuleBackfill.State.values)]
    since: Moment
    until: Moment
    n_scored: int
    n_dropped: int
    created_at: Moment
    finished_at: Moment | None


class BackfillAnswer(AnswerShape):
    """One backfill."""

    backfill: BackfillOut


class BackfillPage(AnswerShape):
    """Backfills of a rule, the newest first."""

    backfills: list[BackfillOut]
    next_cursor: str | None


def build_rules(rules: Sequence[Rule]) -> list[RuleOut]:
    """Return rules as the API shows them. Within the account's scope."""
    budgeted = [rule.pk for rule in rules if rule.budget_per_day is not None]
    spent = {**dict.fromkeys(budgeted, 0.0), **(sum_spend(budgeted) if budgeted else {})}
    return [_build_rule(rule, spent.get(rule.pk)) for rule in rules]


def build_rule(rule: Rule) -> RuleOut:
    """Return a rule as the API shows it. Within the account's scope."""
    (shown,) = build_rules([rule])
    return shown


def _build_rule(rule: Rule, spent: float | None) -> RuleOut:
    return build_shape(
        rule,
        RuleOut,
        id=str(rule.pk),
        sampling=read_sampling(rule),
        budget_per_day=None if rule.budget_per_day is None else float(rule.budget_per_day),
        spent_today=spent,
        n_dropped=DroppedSpans(**{str(reason): getattr(rule, column) for reason, column in COUNTERS.items()}),
        complete_until=moment_at(rule.watermark),
    )


def build_preview_span(previewed: PreviewedSpan) -> RulePreviewSpan:
    """Return a span or evaluation of a preview as the API shows it."""
    candidate, facts = previewed.candidate, {"reason": previewed.reason, "detail": previewed.detail}
    sample: dict[str, Any] | None = previewed.sample
    if isinstance(candidate, CandidateSpan):
        return build_shape(candidate.span, RulePreviewSpan, evaluated_request_id=None, sample=sample, **facts)
    return RulePreviewSpan(
        trace_id=candidate.verdicts[0].trace_id,
        span_id=candidate.request.span_id,
        evaluated_request_id=str(candidate.request.pk),
        name=candidate.name,
        started_at=candidate.request.created_at,
        sample=sample,
        **facts,
    )


def build_rule_span(row: RuleSpan) -> RuleSpanOut:
    """Return what a rule has drawn as the API shows it."""
    request_id = None if row.request_id is None else str(row.request_id)
    if row.evaluated_request_id is None:
        return build_shape(row, RuleSpanOut, request_id=request_id)
    return build_shape(row, RuleSpanOut, request_id=request_id, trace_id=None, span_id=None)


def build_backfill(row: RuleBackfill) -> BackfillOut:
    """Return a backfill as the API shows it."""
    return build_shape(row, BackfillOut, id=str(row.pk), since=row.starts_at, until=row.ends_at)
