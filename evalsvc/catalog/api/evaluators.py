"""GET /v1/evaluators, /v1/evaluators/{id} and /v1/evaluator-families."""

from __future__ import annotations

from typing import Annotated, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params
from evalsvc.catalog.facts import (
    EvaluatorOut,
    EvaluatorWithCard,
    LaneName,
    evaluator_out,
    evaluator_with_card,
    filter_metrics,
)
from evalsvc.catalog.runnable import get_available_judges
from evalsvc.catalog.selectors import list_evaluators
from evalsvc.rest.answering.shapes import AnswerShape, AnswerWithWarnings, answers_with, build_enum
from evalsvc.rest.problems import NotFound
from evaluators.base import Family
from evaluators.facts import OUTPUT_TYPES
from evaluators.registry import families

SCORE_TYPES = BINARY, CONTINUOUS = ("binary", "continuous")


class Evaluators(AnswerWithWarnings):
    """Evaluators, the account's own first."""

    evaluators: list[EvaluatorOut]


class EvaluatorEnvelope(AnswerShape):
    """One evaluator."""

    evaluator: EvaluatorWithCard


class FamilyOut(AnswerShape):
    """A family: what it needs and how its profiles are configured."""

    family_name: str
    description: str
    required_input_fields: list[str]
    optional_input_fields: list[str]
    profile_config_schema: dict[str, Any]
    lane: LaneName
    score_type: Annotated[str, build_enum(SCORE_TYPES)]
    accepts_own_profiles: bool


class Families(AnswerWithWarnings):
    """All families."""

    evaluator_families: list[FamilyOut]


class EvaluatorQuery(serializers.Serializer[Any]):
    """The query of GET /v1/evaluators."""

    by_alias_or_id = serializers.CharField(required=False, allow_blank=True)
    include_deprecated = serializers.BooleanField(default=False)
    output_type = serializers.ChoiceField(
        choices=OUTPUT_TYPES, required=False, help_text="Only what judges such an output, and only such metrics."
    )


def family_out(family: Family) -> FamilyOut:
    """Return a family in the wire's shape; its required inputs are those without a profile."""
    required = family.fields_for({})
    return FamilyOut(
        family_name=family.name,
        description=family.description,
        required_input_fields=[str(name) for name in required],
        optional_input_fields=[str(name) for name in family.optional_fields if name not in required],
        profile_config_schema=dict(family.settings_schema),
        lane=str(family.lane),
        score_type=BINARY if family.binary else CONTINUOUS,
        accepts_own_profiles=family.accepts_own_profiles,
    )


class EvaluatorsView(AccountView):
    """What can be run."""

    @extend_schema(
        operation_id="evaluators",
        tags=["catalog"],
        parameters=[EvaluatorQuery],
        responses=answers_with(Evaluators),
    )
    def get(self, request: Request) -> Response:
        """List evaluators, the account's own first; an unknown name gives an empty list."""
        query = self.parse_query(request, EvaluatorQuery)
        rows = list_evaluators(
            account=self.account,
            by_alias_or_id=query.get("by_alias_or_id"),
            include_deprecated=query["include_deprecated"],
        )
        means = get_available_judges(self.account)
        entries = (filter_metrics(evaluator_out(row, means), query.get("output_type")) for row in rows)
        return Response(Evaluators(evaluators=[row for row in entries if row is not None]))


class EvaluatorView(AccountView):
    """One evaluator and its card."""

    @extend_schema(
        operation_id="evaluator",
        tags=["catalog"],
        responses=answers_with(EvaluatorEnvelope),
    )
    def get(self, request: Request, id: str) -> Response:
        """Show an evaluator, by id or alias: what it reads, measures and misses, how right it was, its cost."""
        rows = list_evaluators(account=self.account, by_alias_or_id=id)
        if not rows:
            raise NotFound
        return Response(EvaluatorEnvelope(evaluator=evaluator_with_card(rows[0], get_available_judges(self.account))))


class FamiliesView(AccountView):
    """What the families need."""

    scoped = False

    @extend_schema(
        operation_id="evaluator_families",
        tags=["catalog"],
        responses=answers_with(Families),
    )
    def get(self, request: Request) -> Response:
        """List evaluator families with their inputs and the JSON Schema of their profiles."""
        self.warn_of(get_query_params(request), ())
        return Response(Families(evaluator_families=[family_out(family) for family in families()]))
