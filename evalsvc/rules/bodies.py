"""The request bodies of rules."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from rest_framework import serializers

from evalsvc.datasets.models import MAX_NAME
from evalsvc.evaluations.wire.request import KnownRef
from evalsvc.rest.bodies.fields import StrictText
from evalsvc.telemetry.attributes import KIND_WORDS

MOST_EVALUATORS = 20
MOST_ATTRIBUTES = 20
LARGEST_CAP = 1_000_000
LARGEST_BUDGET = 10_000_000
MAX_EXAMPLES = 500
"""That one call adds to a dataset."""
MOST_STRATA = 10
Rate = Annotated[float, Meta(gt=0, le=1)]
Name = Annotated[str, Meta(min_length=1, max_length=255)]
Names = Name | Annotated[list[Name], Meta(min_length=1, max_length=50)]
Pointer = Annotated[str, Meta(pattern="^/", max_length=500)]
Kind = Literal["llm", "tool", "agent", "retriever", "embedding", "reranker", "guardrail", "chain"]
KINDS = frozenset(KIND_WORDS.values()) - {"evaluator"}
Status = Literal["unset", "ok", "error"]
VerdictWord = Literal["pass", "fail", "undecided"]
Source = Literal["spans", "evaluations"]
OF_EVALUATIONS = ("app", "text", "evaluator", "criteria", "verdict", "tags")
"""Conditions of rules on evaluations; others, without the last four, are of rules on spans."""


class SpanFilter(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Which spans a rule is about: all conditions hold. A list means any of its values."""

    service_name: Names | None = None
    span_name: Names | None = None
    app: Names | None = None
    kind: Kind | Annotated[list[Kind], Meta(min_length=1)] | None = None
    model: Names | None = None
    status: Status | Annotated[list[Status], Meta(min_length=1)] | None = None
    attributes: (
        Annotated[dict[Name, str | int | float | bool], Meta(min_length=1, max_length=MOST_ATTRIBUTES)] | None
    ) = None
    text: Annotated[str, Meta(min_length=1, max_length=500)] | None = None


class RuleFilter(SpanFilter, forbid_unknown_fields=True, omit_defaults=True):
    """Which spans, or which evaluations, a rule is about. Of evaluations, `app`, `text` and the following may be named.

    One of the evaluations of a call has the `evaluator`, the `criteria` and the `verdict` together.
    """

    evaluator: Names | None = None
    criteria: Names | None = None
    verdict: VerdictWord | Annotated[list[VerdictWord], Meta(min_length=1)] | None = None
    tags: Annotated[dict[Name, str], Meta(min_length=1, max_length=MOST_ATTRIBUTES)] | None = None


class SpanMapping(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What evaluators read: what a span or an evaluation has (`auto`), and by JSON pointers into it."""

    preset: Literal["auto", "none"] = "auto"
    input: Pointer | None = None
    output: Pointer | None = None
    contexts: Pointer | None = None
    gold_answer: Pointer | None = None
    system_prompt: Pointer | None = None
    conversation: Pointer | None = None
    reference: Pointer | None = None


class Stratum(Struct, forbid_unknown_fields=True):
    """Spans or evaluations with a rate of their own."""

    filter: RuleFilter
    rate: Rate


class Sampling(Struct, forbid_unknown_fields=True):
    """The share of traces, or of sessions, of which matching spans are scored: by `rate`, all of one or none.

    A span that meets the filters of some `strata` is drawn by the rate of the first of them.
    """

    rate: Rate = 1.0
    by: Literal["trace", "session"] = "trace"
    strata: Annotated[list[Stratum], Meta(min_length=1, max_length=MOST_STRATA)] | UnsetType = UNSET


class RuleEvaluator(KnownRef):
    """An evaluator with its profile, as POST /v1/evaluate takes it."""


class RuleBody(Struct, forbid_unknown_fields=True):
    """What POST /v1/rules takes."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    evaluators: Annotated[list[RuleEvaluator], Meta(min_length=1, max_length=MOST_EVALUATORS)]
    source: Source = "spans"
    filter: RuleFilter | None = None
    mapping: SpanMapping | None = None
    sampling: Sampling | None = None
    cap_per_hour: Annotated[int, Meta(ge=1, le=LARGEST_CAP)] | None = None
    budget_per_day: Annotated[float, Meta(gt=0, le=LARGEST_BUDGET)] | None = None
    app: str | None = None
    tags: dict[str, str] | None = None
    state: Literal["active", "paused"] = "active"


class RuleChange(Struct, forbid_unknown_fields=True):
    """What shall be otherwise; what is left out, or null, stays. A cap or a budget of null ends."""

    name: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    evaluators: Annotated[list[RuleEvaluator], Meta(min_length=1, max_length=MOST_EVALUATORS)] | None = None
    filter: RuleFilter | None = None
    mapping: SpanMapping | None = None
    sampling: Sampling | None = None
    cap_per_hour: Annotated[int, Meta(ge=1, le=LARGEST_CAP)] | UnsetType | None = UNSET
    budget_per_day: Annotated[float, Meta(gt=0, le=LARGEST_BUDGET)] | UnsetType | None = UNSET
    app: str | None = None
    tags: dict[str, str] | None = None
    state: Literal["active", "paused"] | None = None


class PreviewBody(Struct, forbid_unknown_fields=True):
    """What POST /v1/rules/preview takes: the parts of a rule that decide what is sent."""

    source: Source = "spans"
    filter: RuleFilter | None = None
    mapping: SpanMapping | None = None
    evaluators: Annotated[list[RuleEvaluator], Meta(min_length=1, max_length=MOST_EVALUATORS)] | None = None


class BackfillBody(Struct, forbid_unknown_fields=True):
    """The range of time in which spans began, or evaluations were finished: from `since`, up to and without `until`."""

    since: Annotated[datetime, Meta(tz=True)]
    until: Annotated[datetime, Meta(tz=True)]


class SpanExamplesBody(Struct, forbid_unknown_fields=True):
    """What POST /v1/datasets/spans takes: which stored spans, and the dataset that gets them."""

    dataset_name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)] | None = None
    dataset_id: uuid.UUID | None = None
    filter: SpanFilter | None = None
    mapping: SpanMapping | None = None
    sampling: Sampling | None = None
    since: Annotated[datetime, Meta(tz=True)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_EXAMPLES)] = 100
    cursor: Annotated[str, Meta(max_length=500)] | None = None


class RulesQuery(serializers.Serializer[object]):
    """The query of the lists."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = StrictText(max_length=500, required=False)


class RuleSpansQuery(RulesQuery):
    """The query of the spans of a rule."""

    reason = serializers.ChoiceField(
        ["over_cap", "budget", "no_output", "unreadable", "invalid"],
        required=False,
        help_text="Only those dropped for this.",
    )
