"""/v1/evaluator-profiles: the criteria under the name that older clients of Patronus have for them."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, extend_schema_view, inline_serializer

from evalsvc.catalog.api.criteria import (
    ArchiveView,
    CriteriaIn,
    CriteriaOut,
    CriteriaView,
    EvaluatorCriteriaQuery,
    RevisionIn,
    RevisionView,
)
from evalsvc.rest.bodies.unknown import with_warnings_field

ONE = inline_serializer("ProfileEnvelope", with_warnings_field(evaluator_profile=CriteriaOut()))
MANY = inline_serializer("ProfileList", {"evaluator_profiles": CriteriaOut(many=True)})


@extend_schema_view(
    get=extend_schema(
        operation_id="list_profiles", tags=["catalog"], parameters=[EvaluatorCriteriaQuery], responses=MANY
    ),
    post=extend_schema(operation_id="create_profile", tags=["catalog"], request=CriteriaIn, responses=ONE),
)
class ProfilesView(CriteriaView):
    """Profiles."""

    one, many = "evaluator_profile", "evaluator_profiles"


@extend_schema_view(
    post=extend_schema(operation_id="revise_profile", tags=["catalog"], request=RevisionIn, responses=ONE)
)
class ProfileRevisionView(RevisionView):
    """The next revision of a profile."""

    one = "evaluator_profile"


@extend_schema_view(patch=extend_schema(operation_id="archive_profile", tags=["catalog"], request=None, responses=MANY))
class ProfileArchiveView(ArchiveView):
    """The end of a profile."""

    many = "evaluator_profiles"
