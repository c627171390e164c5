"""GET /v1/evaluators, /v1/evaluator-families; /v1/evaluator-criteria: list, create, revise, archive."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, sent
from evalsvc.catalog import services
from evalsvc.catalog.facts import of_output_type, run_facts
from evalsvc.catalog.models import Evaluator, ProfileRevision, valid_name
from evalsvc.catalog.selectors import get_profile, list_evaluators, list_revisions
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


class CriteriaOut(serializers.Serializer[ProfileRevision]):
    """A profile in one of its revisions."""

    public_id = serializers.UUIDField()
    evaluator_family = serializers.CharField()
    name = serializers.CharField()
    revision = serializers.IntegerField()
    config = serializers.DictField()
    is_patronus_managed = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    description = serializers.CharField()


class EvaluatorQuery(serializers.Serializer[Any]):
    """The query of GET /v1/evaluators."""

    by_alias_or_id = serializers.CharField(required=False, allow_blank=True)
    output_type = serializers.ChoiceField(
        choices=OUTPUT_TYPES, required=False, help_text="Only what judges such an output, and only such metrics."
    )


class CriteriaQuery(serializers.Serializer[Any]):
    """The query of GET /v1/evaluator-criteria."""

    evaluator_family = serializers.CharField(required=False, max_length=60)
    evaluator_id = serializers.CharField(required=False, max_length=100)
    name = serializers.CharField(required=False, max_length=255)
    public_id = serializers.UUIDField(required=False)
    revision = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    is_patronus_managed = serializers.BooleanField(required=False, allow_null=True, default=None)
    enabled = serializers.BooleanField(required=False, default=True)
    get_last_revision = serializers.BooleanField(required=False, default=False)
    limit = serializers.IntegerField(default=1000, min_value=1, max_value=1000)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=2**31 - 1)


class CriteriaIn(serializers.Serializer[Any]):
    """A new profile."""

    evaluator_family = serializers.CharField(max_length=60)
    name = serializers.CharField(max_length=100, validators=[valid_name])
    config = serializers.DictField()
    description = serializers.CharField(required=False, allow_null=True, allow_blank=True, max_length=10_000)


class RevisionIn(serializers.Serializer[Any]):
    """New settings of a profile."""

    config = serializers.DictField()
    description = serializers.CharField(required=False, allow_null=True, allow_blank=True, max_length=10_000)


def evaluator_out(row: Evaluator) -> dict[str, Any]:
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


def family_out(family: Family) -> dict[str, Any]:
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


def criteria_out(revision: ProfileRevision) -> dict[str, Any]:
    """Return a profile revision in the wire's shape; `config` is never null."""
    profile = revision.profile
    return {
        "public_id": profile.id,
        "evaluator_family": profile.family,
        "name": profile.name,
        "revision": revision.number,
        "config": revision.settings or {},
        "is_patronus_managed": profile.account_id is None,
        "created_at": revision.created_at,
        "description": revision.description,
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


class CriteriaView(AccountView):
    """Profiles."""

    one = many = "evaluator_criteria"

    @extend_schema(
        operation_id="list_criteria",
        tags=["catalog"],
        parameters=[CriteriaQuery],
        responses=inline_serializer("CriteriaList", {"evaluator_criteria": CriteriaOut(many=True)}),
    )
    def get(self, request: Request) -> Response:
        """List profile revisions: the account's own and the managed ones. Unknown parameters are ignored."""
        query = CriteriaQuery(data=sent(request))
        query.is_valid(raise_exception=True)
        wanted = query.validated_data
        rows = self._rows(wanted)
        found = rows[wanted["offset"] : wanted["offset"] + wanted["limit"]]
        return Response({self.many: [criteria_out(row) for row in found]})

    def _rows(self, wanted: dict[str, Any]) -> QuerySet[ProfileRevision]:
        rows = list_revisions(account=self.account, filters=wanted)
        if name := wanted.get("evaluator_id"):
            found = list_evaluators(account=self.account, by_alias_or_id=name)
            rows = rows.filter(profile__family__in=[row.family for row in found])
        return rows

    @extend_schema(
        operation_id="create_criteria",
        tags=["catalog"],
        request=CriteriaIn,
        responses=inline_serializer("CriteriaEnvelope", {"evaluator_criteria": CriteriaOut()}),
    )
    def post(self, request: Request) -> Response:
        """Make a profile. Its name is unique in the account, whatever the family."""
        body = CriteriaIn(data=request.data)
        self.lenient(body)
        revision = services.create_profile(
            account=self.account,
            family=body.validated_data["evaluator_family"],
            name=body.validated_data["name"],
            settings=body.initial_data["config"],
            description=body.validated_data.get("description") or "",
            actor=self.caller.actor,
        )
        return Response({self.one: criteria_out(revision)})


class RevisionView(AccountView):
    """The next revision of a profile."""

    one = "evaluator_criteria"

    @extend_schema(
        operation_id="revise_criteria",
        tags=["catalog"],
        request=RevisionIn,
        responses=inline_serializer("RevisedCriteria", {"evaluator_criteria": CriteriaOut()}),
    )
    def post(self, request: Request, public_id: uuid.UUID) -> Response:
        """Freeze new settings as the next revision; earlier results keep pointing at theirs."""
        profile = get_profile(account=self.account, id=public_id)
        body = RevisionIn(data=request.data)
        self.lenient(body)
        revision = services.revise_profile(
            account=self.account,
            profile=profile,
            settings=body.initial_data["config"],
            description=body.validated_data.get("description"),
            actor=self.caller.actor,
        )
        return Response({self.one: criteria_out(revision)})


class ArchiveView(AccountView):
    """The end of a profile."""

    many = "evaluator_criteria"

    @extend_schema(
        operation_id="archive_criteria",
        tags=["catalog"],
        request=None,
        responses=inline_serializer("ArchivedCriteria", {"evaluator_criteria": CriteriaOut(many=True)}),
    )
    def patch(self, request: Request, public_id: uuid.UUID) -> Response:
        """Take a profile out of use; return all its revisions. Scores that point to them stay."""
        profile = get_profile(account=self.account, id=public_id)
        revisions = services.archive_profile(
            account=self.account, profile=profile, now=timezone.now(), actor=self.caller.actor
        )
        return Response({self.many: [criteria_out(revision) for revision in revisions]})
