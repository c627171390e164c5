"""GET /v1/evaluators and /v1/evaluator-families."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, sent
from evalsvc.catalog.facts import of_output_type, run_facts
from evalsvc.catalog.models import Evaluator
from evalsvc.catalog.selectors import list_evaluators
from evaluators.base import Family
from evaluators.facts import OUTPUT_TYPES
from evaluators.registry import families, find_evaluator


class MetricOut(serializers.Serializer[Any]):
    """A metric that profiles of an evaluator choose from."""

    name = serializers.CharField()
    formula = serializers.CharField()
    required_input_fields = serializers.ListField(child=serializers.CharField())
    output_types = serializers.ListField(child=serializers.ChoiceField(choices=OUTPUT_TYPES))
    components = serializers.ListField(child=serializers.CharField())
    profiles = serializers.ListField(child=serializers.CharField())


class EvaluatorOut(serializers.Serializer[Evaluator]):
    """An evaluator that the account can run."""

    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    evaluator_family = serializers.CharField()
    aliases = serializers.ListField(child=serializers.CharField())
    evaluation_enabled = serializers.BooleanField()
    evaluation_run_enabled = serializers.BooleanField()
    profile_required = serializers.BooleanField()
    image_url = serializers.CharField(allow_null=True)
    default_criteria = serializers.CharField(allow_null=True)
    deprecated = serializers.BooleanField()
    lane = serializers.ChoiceField(choices=["inline", "cpu", "judge"], allow_null=True)
    required_input_fields = serializers.ListField(child=serializers.CharField())
    components = serializers.ListField(child=serializers.CharField())
    output_types = serializers.ListField(child=serializers.ChoiceField(choices=OUTPUT_TYPES))
    formula = serializers.CharField(allow_null=True)
    scale = serializers.ListField(child=serializers.FloatField(), allow_null=True)
    higher_is_better = serializers.BooleanField()
    judge_calls = serializers.CharField(allow_null=True)
    metrics = MetricOut(many=True)


class FamilyOut(serializers.Serializer[Family]):
    """A family: what it needs and how its profiles are configured."""

    family_name = serializers.CharField()
    description = serializers.CharField()
    required_input_fields = serializers.ListField(child=serializers.CharField())
    optional_input_fields = serializers.ListField(child=serializers.CharField())
    profile_config_schema = serializers.DictField()
    lane = serializers.ChoiceField(choices=["inline", "cpu", "judge"])
    score_type = serializers.ChoiceField(choices=["binary", "continuous"])
    accepts_own_profiles = serializers.BooleanField()


class EvaluatorQuery(serializers.Serializer[Any]):
    """The query of GET /v1/evaluators."""

    by_alias_or_id = serializers.CharField(required=False, allow_blank=True)
    output_type = serializers.ChoiceField(
        choices=OUTPUT_TYPES, required=False, help_text="Only what judges such an output, and only such metrics."
    )


def evaluator_out(row: Evaluator) -> dict[str, object]:
    """Return an evaluator in the wire's shape; one whose package is no longer installed is not enabled."""
    is_enabled = row.is_enabled and find_evaluator(row.base) is not None
    return {
        "id": row.evaluator_id,
        "name": row.name,
        "description": row.description,
        "evaluator_family": row.family,
        "aliases": row.aliases,
        "evaluation_enabled": is_enabled,
        "evaluation_run_enabled": is_enabled,
        "profile_required": row.default_profile is None,
        "image_url": None,
        "default_criteria": row.default_profile,
        "deprecated": row.deprecated,
        **run_facts(row),
    }


def family_out(family: Family) -> dict[str, object]:
    """Return a family in the wire's shape; its required inputs are those without a profile."""
    required = family.fields_for({})
    return {
        "family_name": family.name,
        "description": family.description,
        "required_input_fields": [str(name) for name in required],
        "optional_input_fields": [str(name) for name in family.optional_fields if name not in required],
        "profile_config_schema": dict(family.settings_schema),
        "lane": str(family.lane),
        "score_type": "binary" if family.binary else "continuous",
        "accepts_own_profiles": family.accepts_own_profiles,
    }


class EvaluatorsView(AccountView):
    """What can be run."""

    @extend_schema(
        operation_id="evaluators",
        tags=["catalog"],
        parameters=[EvaluatorQuery],
        responses=inline_serializer("Evaluators", {"evaluators": EvaluatorOut(many=True)}),
    )
    def get(self, request: Request) -> Response:
        """List evaluators, the account's own first; an unknown name gives an empty list."""
        query = EvaluatorQuery(data=sent(request))
        query.is_valid(raise_exception=True)
        rows = list_evaluators(account=self.account, by_alias_or_id=query.validated_data.get("by_alias_or_id"))
        shown = (of_output_type(evaluator_out(row), query.validated_data.get("output_type")) for row in rows)
        return Response({"evaluators": [row for row in shown if row is not None]})


class FamiliesView(AccountView):
    """What the families need."""

    scoped = False

    @extend_schema(
        operation_id="evaluator_families",
        tags=["catalog"],
        responses=inline_serializer("Families", {"evaluator_families": FamilyOut(many=True)}),
    )
    def get(self, request: Request) -> Response:
        """List evaluator families with their inputs and the JSON Schema of their profiles."""
        return Response({"evaluator_families": [family_out(family) for family in families()]})
