"""Query and body of aggregates."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from evalsvc.experiments.bodies.plans import read_digits
from evalsvc.experiments.bodies.strict import Strict
from evalsvc.rest.bodies.fields import StrictText

MAX_EXPERIMENTS = 20
MOST_SLICES = 100


class AggregatesIn(serializers.Serializer[Any]):
    """The query of the aggregates of one experiment."""

    by = StrictText(max_length=500, help_text="`metadata.<key>`, `parameters.<name>`, or several with commas.")
    metric = StrictText(max_length=100, required=False, help_text="Without it, the primary metric.")
    config = StrictText(max_length=100, required=False, help_text="Id or name; without it, every config.")
    level = serializers.FloatField(min_value=0.5, max_value=0.9999, required=False)
    max_slices = serializers.IntegerField(min_value=1, max_value=MOST_SLICES, default=20)
    cluster_by = StrictText(max_length=200, required=False, help_text="`metadata.<key>`: what examples share.")
    format = serializers.ChoiceField(choices=["json", "csv"], default="json")

    def validate_by(self, value: str) -> list[str]:
        """Return the names."""
        return split_axes(value)


class ManyAggregatesIn(Strict):
    """The body of the aggregates of several experiments."""

    experiment_ids = serializers.ListField(
        child=StrictText(max_length=20), min_length=1, max_length=MAX_EXPERIMENTS, allow_empty=False
    )
    by = serializers.ListField(child=StrictText(max_length=200), max_length=4, default=list)
    metric = StrictText(max_length=100, required=False, allow_null=True)
    config = StrictText(max_length=100, required=False, allow_null=True)
    level = serializers.FloatField(min_value=0.5, max_value=0.9999, required=False)
    max_slices = serializers.IntegerField(min_value=1, max_value=MOST_SLICES, default=20)
    cluster_by = StrictText(max_length=200, required=False, allow_null=True)
    paired = serializers.BooleanField(default=False)
    format = serializers.ChoiceField(choices=["json", "csv"], default="json")

    def validate_experiment_ids(self, value: list[str]) -> list[int]:
        """Return the ids, each once."""
        return list(dict.fromkeys(read_digits(experiment_id) for experiment_id in value))


def split_axes(text: str) -> list[str]:
    """Return names that were written with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]
