"""What a call that makes a comparison sends."""

from __future__ import annotations

from rest_framework import serializers

from evalsvc.comparisons.models import OutputComparison
from evalsvc.experiments.bodies.strict import Strict, build_bounded_list
from evalsvc.rest.bodies.fields import RowId

LARGEST_ID, MAX_NAMED = 2**63 - 1, 64


class ComparisonJudgeIn(Strict):
    """Who judges: one of `evaluator`, `metric`, `connection` and `review_id`."""

    evaluator = serializers.CharField(max_length=200, required=False, help_text="By its scores, or one of pairs.")
    metric = serializers.CharField(max_length=100, required=False, help_text="One that the experiment has.")
    connection = serializers.CharField(max_length=100, required=False, help_text="An LLM, asked by `criteria`.")
    review_id = serializers.UUIDField(required=False, help_text="People, in a review of pairs of this experiment.")
    criteria = serializers.CharField(
        max_length=20_000, required=False, help_text="A profile of the evaluator; words, for a connection."
    )
    model = serializers.CharField(max_length=200, required=False)
    allow_tie = serializers.BooleanField(required=False, allow_null=True, default=None)
    tie_width = serializers.FloatField(
        min_value=0, max_value=1e100, required=False, help_text="Scores no further apart are a tie."
    )


class ComparisonIn(Strict):
    """A new comparison."""

    experiment_id = RowId()
    name = serializers.CharField(max_length=100, required=False, allow_null=True)
    configs = build_bounded_list(MAX_NAMED, serializers.CharField(max_length=100), required=False)  # type: ignore[arg-type]
    judge = ComparisonJudgeIn()
    design = serializers.ChoiceField(choices=OutputComparison.Design.choices, default=OutputComparison.Design.ALL)
    baseline = serializers.CharField(max_length=100, required=False, allow_null=True)
    budget = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False, allow_null=True)
    half_width = serializers.FloatField(min_value=1e-3, max_value=100, required=False, allow_null=True)
    previous_id = RowId(required=False, allow_null=True)
    level = serializers.FloatField(min_value=0.5, max_value=0.999, default=0.95)
    seed = serializers.IntegerField(min_value=0, max_value=LARGEST_ID, default=0)
