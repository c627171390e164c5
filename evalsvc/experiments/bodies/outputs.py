"""Bodies of what external workers send: leases, outputs and errors."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from evalsvc.experiments.bodies.strict import LARGEST, Strict, build_bounded_list
from evalsvc.experiments.definition.plans import MAX_SAMPLES
from evalsvc.experiments.runner.push.units import ERROR_TYPES
from evalsvc.rest.bodies.fields import HexId

MAX_OUTPUTS = 100


class LeaseIn(Strict):
    """How much work the caller's code takes, and for how long."""

    n = serializers.IntegerField(min_value=1, max_value=100, required=False)
    lease_seconds = serializers.IntegerField(min_value=10, max_value=3600, default=60)
    blind = serializers.BooleanField(default=False)


class ErrorIn(Strict):
    """Why there is no output."""

    type = serializers.ChoiceField(choices=ERROR_TYPES)
    message = serializers.CharField(max_length=10_000, required=False, allow_blank=True, trim_whitespace=False)


class SampleOutputIn(Strict):
    """One answer of the caller's code to one example, or why there is none."""

    output = serializers.JSONField(required=False, allow_null=True)
    scores = serializers.DictField(required=False, allow_null=True)
    finish_reason = serializers.CharField(max_length=50, required=False, allow_null=True, allow_blank=True)
    error = ErrorIn(required=False, allow_null=True)
    latency_ms = serializers.FloatField(min_value=0, max_value=1e12, required=False, allow_null=True)
    input_tokens = serializers.IntegerField(min_value=0, max_value=LARGEST, required=False, allow_null=True)
    output_tokens = serializers.IntegerField(min_value=0, max_value=LARGEST, required=False, allow_null=True)
    cost = serializers.FloatField(min_value=0, max_value=1e12, required=False, allow_null=True)
    trace_id = HexId(32, required=False, allow_null=True)
    span_id = HexId(16, required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, object]:
        """Reject a span without its trace, because spans are looked up by trace."""
        if attrs.get("span_id") and not attrs.get("trace_id"):
            raise serializers.ValidationError({"span_id": ["A span is found by its trace; send its `trace_id` too."]})
        return attrs


class OutputIn(SampleOutputIn):
    """What the caller's code made of one example: an answer, or all its samples."""

    pos = serializers.IntegerField(min_value=0, max_value=LARGEST)
    isolated = serializers.DictField(child=serializers.DictField(), required=False, allow_null=True)
    isolated_errors = serializers.DictField(
        child=serializers.CharField(max_length=10_000, allow_blank=True, trim_whitespace=False),
        required=False,
        allow_null=True,
    )
    samples = serializers.ListField(child=SampleOutputIn(), min_length=1, max_length=MAX_SAMPLES, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, object]:
        """Reject an answer that comes together with samples."""
        if "samples" in attrs and (beside := [name for name in attrs if name not in ("pos", "samples")]):
            raise serializers.ValidationError({beside[0]: ["Where an output has `samples`, each has its own."]})
        return super().validate(attrs)


class OutputsIn(Strict):
    """Outputs of a leased unit; `done` gives back what is missing."""

    token = serializers.UUIDField()
    outputs = build_bounded_list(MAX_OUTPUTS, OutputIn())
    done = serializers.BooleanField(required=False, allow_null=True, default=None)
    lease_seconds = serializers.IntegerField(min_value=10, max_value=3600, default=60)
