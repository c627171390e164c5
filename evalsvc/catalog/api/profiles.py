"""/v1/evaluator-profiles: the criteria under the name that older clients of Patronus have for them."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, extend_schema_view
from msgspec import field

from evalsvc.catalog.api.criteria import (
    ArchiveView,
    CriteriaEnvelope,
    CriteriaIn,
    CriteriaList,
    CriteriaOut,
    CriteriaView,
    EvaluatorCriteriaQuery,
    RevisionIn,
    RevisionView,
)
from evalsvc.rest.answering.shapes import answers_with


class ProfileEnvelope(CriteriaEnvelope):
    """One revision of a profile."""

    profile: CriteriaOut = field(name="evaluator_profile")


class ProfileList(CriteriaList):
    """Revisions of profiles."""

    profiles: list[CriteriaOut] = field(name="evaluator_profiles")


@extend_schema_view(
    get=extend_schema(
        operation_id="list_profiles",
        tags=["catalog"],
        parameters=[EvaluatorCriteriaQuery],
        responses=answers_with(ProfileList),
    ),
    post=extend_schema(
        operation_id="create_profile", tags=["catalog"], request=CriteriaIn, responses=answers_with(ProfileEnvelope)
    ),
)
class ProfilesView(CriteriaView):
    """Profiles."""

    one, many = ProfileEnvelope, ProfileList


@extend_schema_view(
    post=extend_schema(
        operation_id="revise_profile", tags=["catalog"], request=RevisionIn, responses=answers_with(ProfileEnvelope)
    )
)
class ProfileRevisionView(RevisionView):
    """The next revision of a profile."""

    one = ProfileEnvelope


@extend_schema_view(
    patch=extend_schema(
        operation_id="archive_profile", tags=["catalog"], request=None, responses=answers_with(ProfileList)
    )
)
class ProfileArchiveView(ArchiveView):
    """The end of a profile."""

    many = ProfileList
