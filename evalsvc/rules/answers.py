"""What the API says of rules."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from msgspec import Meta

from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, build_enum, build_shape
from evalsvc.rules.bodies import Sampling
from evalsvc.rules.models import Rule, RuleBackfill, RuleSpan
from evalsvc.rules.readers import read_sampling
from evalsvc.rules.scorer import COUNTERS
from evalsvc.rules.selectors import PreviewedSpan
from evalsvc.tenancy.scope import EPOCH

Word = Annotated[str, build_enum(RuleSpan.Reason.values)]


class DroppedSpans(AnswerShape):
    """Spans that were drawn and not scored, by the reason."""

    over_cap: Annotated[int, Meta(description="More than `cap_per_hour`.")]
    no_output: Annotated[int, Meta(description="Without an output and a conversation.")]
    unreadable: Annotated[int, Meta(description="With messages that cannot be read.")]
    invalid: Annotated[int, Meta(description="Refused as an evaluation, for example as too long.")]


class RuleOut(AnswerShape):
    """A rule, and what it has done."""

    id: str
    name: str
    state: Annotated[str, build_enum(Rule.State.values)]
    revision: int
    filter: Json
    mapping: Json
    evaluators: Json
    sampling: Sampling
    cap_per_hour: int | None
    app: str | None
    tags: dict[str, str]
    n_scored: Annotated[int, Meta(description="Spans with a stored evaluation.")]
    n_dropped: DroppedSpans
    complete_until: Annotated[Moment, Meta(description="Spans that arrived before are done.")]
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
    """A span that matches: the `sample` that evaluators would read, or why there is none."""

    trace_id: str
    span_id: str
    name: str
    started_at: Moment
    sample: Json
    reason: Word | None
    detail: str | None


class RulePreview(AnswerShape):
    """The newest spans that match a filter."""

    spans: list[RulePreviewSpan]
    n_read: Annotated[int, Meta(description="Spans that were read to find them; at most 500.")]


class RuleSpanOut(AnswerShape):
    """A span that a rule has drawn."""

    trace_id: str
    span_id: str
    revision: int
    probability: Annotated[float, Meta(description="With which the rule draws a span like this one.")]
    request_id: Annotated[str | None, Meta(description="Its evaluations: GET /v1/evaluate/{id}.")]
    reason: Word | None
    detail: str | None
    created_at: Moment


class RuleSpanPage(AnswerShape):
    """Spans of a rule, the newest first."""

    spans: list[RuleSpanOut]
    next_cursor: str | None


class BackfillOut(AnswerShape):
    """A rule on stored spans."""

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


def build_rule(rule: Rule) -> RuleOut:
    """Return a rule as the API shows it."""
    return build_shape(
        rule,
        RuleOut,
        id=str(rule.pk),
        sampling=read_sampling(rule),
        n_dropped=DroppedSpans(**{str(reason): getattr(rule, column) for reason, column in COUNTERS.items()}),
        complete_until=EPOCH + timedelta(milliseconds=rule.watermark >> 22),
    )


def build_preview_span(previewed: PreviewedSpan) -> RulePreviewSpan:
    """Return a span of a preview as the API shows it."""
    sample: dict[str, Any] | None = previewed.sample
    return build_shape(previewed.span, RulePreviewSpan, sample=sample, reason=previewed.reason, detail=previewed.detail)


def build_rule_span(row: RuleSpan) -> RuleSpanOut:
    """Return a span of a rule as the API shows it."""
    return build_shape(row, RuleSpanOut, request_id=None if row.request_id is None else str(row.request_id))


def build_backfill(row: RuleBackfill) -> BackfillOut:
    """Return a backfill as the API shows it."""
    return build_shape(row, BackfillOut, id=str(row.pk), since=row.starts_at, until=row.ends_at)
