"""/v1/evaluator-criteria: list, create, revise and archive profiles."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from msgspec import field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.catalog import services
from evalsvc.catalog.models import ProfileRevision, valid_name
from evalsvc.catalog.runnable import get_available_judges, unrunnable_profiles
from evalsvc.catalog.selectors import get_profile, list_evaluators, list_revisions
from evalsvc.rest.answering.shapes import AnswerShape, AnswerWithWarnings, Moment, answers_with, build_shape


class CriteriaOut(AnswerShape):
    """A profile in one of its revisions."""

    public_id: uuid.UUID
    evaluator_family: str
    name: str
    revision: int
    config: dict[str, Any]
    is_patronus_managed: bool
    created_at: Moment
    description: str


class CriteriaEnvelope(AnswerWithWarnings):
    """One revision of a profile."""

    profile: CriteriaOut = field(name="evaluator_criteria")


class CriteriaList(AnswerWithWarnings):
    """Revisions of profiles."""

    profiles: list[CriteriaOut] = field(name="evaluator_criteria")


NAMING = ("name", "public_id", "evaluator_family", "evaluator_id", "is_patronus_managed")
"""Who sends one of these has chosen: clients take a family's default from its list."""


class EvaluatorCriteriaQuery(serializers.Serializer[Any]):
    """The query of GET /v1/evaluator-criteria."""

    evaluator_family = serializers.CharField(required=False, max_length=60)
    evaluator_id = serializers.CharField(required=False, max_length=100)
    name = serializers.CharField(required=False, max_length=255)
    public_id = serializers.UUIDField(required=False)
    revision = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    is_patronus_managed = serializers.BooleanField(required=False, allow_null=True, default=None)
    enabled = serializers.BooleanField(required=False, default=True)
    get_last_revision = serializers.BooleanField(required=False, default=False)
    limit = serializers.IntegerField(default=1000, min_value=0, max_value=1000)
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


def evaluator_criteria_out(revision: ProfileRevision) -> CriteriaOut:
    """Return a profile revision in the wire's shape; `config` is never null."""
    profile = revision.profile
    return build_shape(
        revision,
        CriteriaOut,
        public_id=profile.id,
        evaluator_family=profile.family,
        name=profile.name,
        revision=revision.number,
        config=revision.settings or {},
        is_patronus_managed=profile.account_id is None,
    )


class CriteriaView(AccountView):
    """Profiles."""

    one: type[CriteriaEnvelope] = CriteriaEnvelope
    many: type[CriteriaList] = CriteriaList

    @extend_schema(
        operation_id="list_criteria",
        tags=["catalog"],
        parameters=[EvaluatorCriteriaQuery],
        responses=answers_with(CriteriaList),
    )
    def get(self, request: Request) -> Response:
        """List profile revisions: the account's own and the managed ones. `warnings` names unknown parameters."""
        query = self.parse_query(request, EvaluatorCriteriaQuery)
        rows = self._rows(query)
        page = self.get_offset_list(request).take_page(rows, limit=query["limit"], offset=query["offset"])
        return Response(self.many(profiles=[evaluator_criteria_out(row) for row in page]))

    def _rows(self, wanted: Mapping[str, Any]) -> QuerySet[ProfileRevision]:
        rows = list_revisions(account=self.account, filters=wanted)
        if not any(wanted.get(name) for name in NAMING):
            # Clients choose from this list, so it excludes profiles that cannot run.
            rows = rows.exclude(profile_id__in=unrunnable_profiles(get_available_judges(self.account)))
        if name := wanted.get("evaluator_id"):
            evaluators = list_evaluators(account=self.account, by_alias_or_id=name)
            rows = rows.filter(profile__family__in=[row.family for row in evaluators])
        return rows

    @extend_schema(
        operation_id="create_criteria",
        tags=["catalog"],
        request=CriteriaIn,
        responses=answers_with(CriteriaEnvelope),
    )
    def post(self, request: Request) -> Response:
        """Make a profile. Its name is unique in the account, whatever the family."""
        body = CriteriaIn(data=request.data)
        self.validate_lenient(body)
        revision = services.create_profile(
            account=self.account,
            family=body.validated_data["evaluator_family"],
            name=body.validated_data["name"],
            settings=body.initial_data["config"],
            description=body.validated_data.get("description") or "",
            actor=self.caller.actor,
        )
        return Response(self.one(profile=evaluator_criteria_out(revision)))


class RevisionView(AccountView):
    """The next revision of a profile."""

    one: type[CriteriaEnvelope] = CriteriaEnvelope

    @extend_schema(
        operation_id="revise_criteria",
        tags=["catalog"],
        request=RevisionIn,
        responses=answers_with(CriteriaEnvelope),
    )
    def post(self, request: Request, public_id: uuid.UUID) -> Response:
        """Freeze new settings as the next revision; earlier results keep pointing at theirs."""
        profile = get_profile(account=self.account, id=public_id)
        body = RevisionIn(data=request.data)
        self.validate_lenient(body)
        revision = services.revise_profile(
            account=self.account,
            profile=profile,
            settings=body.initial_data["config"],
            description=body.validated_data.get("description"),
            actor=self.caller.actor,
        )
        return Response(self.one(profile=evaluator_criteria_out(revision)))


class ArchiveView(AccountView):
    """The end of a profile."""

    many: type[CriteriaList] = CriteriaList

    @extend_schema(
        operation_id="archive_criteria",
        tags=["catalog"],
        request=None,
        responses=answers_with(CriteriaList),
    )
    def patch(self, request: Request, public_id: uuid.UUID) -> Response:
        """Take a profile out of use; return all its revisions. Scores that point to them stay."""
        profile = get_profile(account=self.account, id=public_id)
        revisions = services.archive_profile(
            account=self.account, profile=profile, now=timezone.now(), actor=self.caller.actor
        )
        return Response(self.many(profiles=[evaluator_criteria_out(revision) for revision in revisions]))
