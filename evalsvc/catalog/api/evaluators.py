"""/v1/evaluators: list, create, read and change; GET /v1/evaluator-families."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
from drf_spectacular.utils import extend_schema
from msgspec import UNSET, Meta, Struct, UnsetType
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.models import Account
from evalsvc.accounts.views import AccountView, get_query_params
from evalsvc.catalog.facts import (
    EvaluatorOut,
    EvaluatorWithCard,
    LaneName,
    evaluator_out,
    evaluator_with_card,
    filter_metrics,
)
from evalsvc.catalog.models import Evaluator
from evalsvc.catalog.runnable import get_available_judges
from evalsvc.catalog.selectors import get_evaluator, list_evaluators
from evalsvc.catalog.services import change_evaluator, create_evaluator
from evalsvc.rest.answering.shapes import (
    AnswerShape,
    AnswerWithWarnings,
    answer_with,
    answers_with,
    build_enum,
    reference,
)
from evalsvc.rest.bodies.parsers import decode, read_body
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evaluators.base import Family
from evaluators.facts import OUTPUT_TYPES
from evaluators.registry import families

Name = Annotated[str, Meta(min_length=1, max_length=100)]
Aliases = Annotated[list[Name], Meta(max_length=20)]
DefaultCriteria = Annotated[str, Meta(min_length=1, max_length=120)] | None
Text = Annotated[str, Meta(max_length=10_000)]
COLUMNS = {"id": "evaluator_id", "default_criteria": "default_profile", "evaluation_enabled": "is_enabled"}
"""Fields of bodies whose columns have other names."""
FIELDS = {column: field for field, column in COLUMNS.items()}
SCORE_TYPES = BINARY, CONTINUOUS = ("binary", "continuous")


class Evaluators(AnswerWithWarnings):
    """Evaluators, the account's own first."""

    evaluators: list[EvaluatorOut]


class EvaluatorEnvelope(AnswerShape):
    """One evaluator."""

    evaluator: EvaluatorWithCard


class EvaluatorBody(Struct, forbid_unknown_fields=True):
    """A new evaluator: a managed one under a name of the account's own, with a default profile and aliases."""

    id: Name
    base: Name
    name: Name | None = None
    aliases: Aliases = []
    default_criteria: DefaultCriteria = None
    description: Text = ""
    evaluation_enabled: bool = True


class EvaluatorChanges(Struct, forbid_unknown_fields=True):
    """What changes of an evaluator; of a managed one only `evaluation_enabled`."""

    name: Name | UnsetType = UNSET
    aliases: Aliases | UnsetType = UNSET
    default_criteria: DefaultCriteria | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    evaluation_enabled: bool | UnsetType = UNSET


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

    @extend_schema(
        operation_id="create_evaluator",
        tags=["catalog"],
        request={"application/json": reference(EvaluatorBody)},
        responses={201: answer_with(EvaluatorEnvelope)},
    )
    def post(self, request: Request) -> Response:
        """Make an evaluator of the account's own, which has its own history. Its id is new in the account."""
        body = decode(read_body(request), msgspec.json.Decoder(EvaluatorBody))
        columns = _read_columns(body) | {"name": body.name or body.id}
        with _renamed_pointers():
            row = create_evaluator(account=self.account, evaluator=Evaluator(**columns), actor=self.caller.actor)
        return Response(answer_evaluator(self.account, row), status=201)


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
        return Response(answer_evaluator(self.account, rows[0]))

    @extend_schema(
        operation_id="change_evaluator",
        tags=["catalog"],
        request={"application/json": reference(EvaluatorChanges)},
        responses=answers_with(EvaluatorEnvelope),
    )
    def patch(self, request: Request, id: str) -> Response:
        """Change an evaluator of the account's own, or switch a managed one on or off for the account, by its id.

        `id` and `base` stay: scores know an evaluator by them. What is sent replaces what it has, such as all aliases.
        """
        get_evaluator(account=self.account, id=id)
        body = decode(read_body(request), msgspec.json.Decoder(EvaluatorChanges))
        with _renamed_pointers():
            row = change_evaluator(account=self.account, id=id, changes=_read_columns(body), actor=self.caller.actor)
        return Response(answer_evaluator(self.account, row))


def answer_evaluator(account: Account, row: Evaluator) -> EvaluatorEnvelope:
    """Return an evaluator with its card."""
    return EvaluatorEnvelope(evaluator=evaluator_with_card(row, get_available_judges(account)))


def _read_columns(body: EvaluatorBody | EvaluatorChanges) -> dict[str, Any]:
    fields = msgspec.structs.asdict(body)
    return {COLUMNS.get(field, field): value for field, value in fields.items() if value is not UNSET}


@contextmanager
def _renamed_pointers() -> Iterator[None]:
    """Name fields of the body, not columns, where a service refuses one."""
    try:
        yield
    except Invalid as problem:
        errors = [
            FieldError("/" + FIELDS.get(error.pointer[1:], error.pointer[1:]), error.detail) for error in problem.errors
        ]
        raise Invalid(*errors, code=problem.code) from None


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
