"""The request bodies of gates."""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from rest_framework import serializers

from evalsvc.rest.bodies.fields import StrictText

MOST_RULES = 20
# What the next candidate might spend is below what doubles tell from nothing.
MOST_ATTEMPTS = 10_000
LARGEST = 1e15
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Name = Annotated[str, Meta(min_length=1, max_length=255)]
RowNumber = Annotated[str, Meta(pattern="^[0-9]{1,19}$")]
Outcome = Literal["pass", "fail", "undecided"]
Looks = Literal["one", "watched"]
Covers = Literal["new_data", "this_set"]
FORMATS = ("json", "md", "junit", "html")


class GateSide(Struct, forbid_unknown_fields=True):
    """A config of an experiment, by its name or id; an experiment with one config needs none."""

    experiment_id: RowNumber
    config: Name | None = None


class GateHistory(Struct, forbid_unknown_fields=True):
    """A captured history; `scope`, `since` and `include_experiments` as in `confidence_interval_strategy`.

    `truth` is the id or name of annotation criteria, for rules on the metric `truth`: what people would say of these
    scores. `truth_draw` is the review that drew the labelled ones.
    """

    evaluator: Name
    criteria: Name | None = None
    scope: Any = None
    since: Any = None
    include_experiments: Any = None
    truth: Annotated[Name | None, Meta(description="Id or name of annotation criteria, for rules on `truth`.")] = None
    truth_draw: Annotated[
        uuid.UUID | None, Meta(description="The review that drew the labelled scores. Default: the newest.")
    ] = None


class GateRule(Struct, forbid_unknown_fields=True):
    """One of `not_worse_by` and `better_by`, against the baseline, or `at_least` and `at_most`, maybe of a quantile.

    `value_range` is between which numbers the scores lie, for the mean of a metric that declares no range. `looks` is
    for rules on `truth`.
    """

    metric: Name
    not_worse_by: Annotated[float, Meta(gt=0, le=LARGEST)] | None = None
    better_by: Annotated[float, Meta(ge=0, le=LARGEST)] | None = None
    at_least: Number | None = None
    at_most: Number | None = None
    quantile: Annotated[float, Meta(gt=0, lt=1)] | None = None
    value_range: Annotated[list[Number], Meta(min_length=2, max_length=2)] | None = None
    looks: Annotated[
        Looks | None,
        Meta(
            description="Of a rule on `truth`. `watched`, the default: it may be asked again while labels come in."
            " `one`: at a single look, chosen beforehand."
        ),
    ] = None

    @property
    def kinds(self) -> list[str]:
        """Return which of the four it gives; exactly one is right."""
        return [
            name for name in ("not_worse_by", "better_by", "at_least", "at_most") if getattr(self, name) is not None
        ]

    @property
    def is_paired(self) -> bool:
        """Return whether it compares with a baseline."""
        return self.not_worse_by is not None or self.better_by is not None


class GateBody(Struct, forbid_unknown_fields=True):
    """What POST /v1/gates takes: a `candidate`, maybe with a `baseline`, or a `history`."""

    rules: Annotated[list[GateRule], Meta(min_length=1, max_length=MOST_RULES)]
    name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    candidate: GateSide | None = None
    baseline: GateSide | None = None
    history: GateHistory | None = None
    level: Annotated[float, Meta(ge=0.5, le=0.9999)] = 0.95
    looks: Looks = "one"
    covers: Covers = "new_data"
    cluster_by: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    min_share: Annotated[float, Meta(gt=0, le=1)] = 0.8
    benchmark: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    attempt: Annotated[int, Meta(ge=1, le=MOST_ATTEMPTS)] | None = None


class GatesQuery(serializers.Serializer[Any]):
    """The query of the list."""

    outcome = serializers.ChoiceField(["pass", "fail", "undecided"], required=False)
    experiment_id = serializers.RegexField(
        r"\A[0-9]{1,19}\Z", required=False, help_text="Of the candidate.", error_messages={"invalid": "Digits."}
    )
    benchmark = StrictText(max_length=100, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=100, default=20)
    cursor = StrictText(max_length=500, required=False)


class GateQuery(serializers.Serializer[Any]):
    """The query of one gate."""

    format = serializers.ChoiceField(FORMATS, default="json")
