"""/v1/prompt-definitions and /v1/prompt-revisions, as Patronus' clients call them."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from msgspec import UNSET, Meta, UnsetType
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, get_unique_query_params, validate_strict
from evalsvc.prompts import services
from evalsvc.prompts.bodies import DefinitionBody, LabelsBody, NewRevisionBody
from evalsvc.prompts.evidence import LabelEvidence, evidence_from
from evalsvc.prompts.models import Prompt, PromptRevision
from evalsvc.prompts.selectors import (
    PromptFilters,
    RevisionFilters,
    get_prompt,
    get_prompt_revision,
    list_prompt_revisions,
    list_prompts,
    page_of_revisions,
)
from evalsvc.rest.answering.shapes import AnswerShape, AnswerWithWarnings, Json, Moment, answers_with, build_shape
from evalsvc.rest.bodies.schemas import body_schema

LARGEST = 2**31 - 1


class PromptsQuery(serializers.Serializer[Any]):
    """The query parameters that both lists have in common. `limit=0` returns an empty page."""

    project_id = serializers.UUIDField(required=False)
    project_name = serializers.CharField(required=False)
    prompt_id = serializers.UUIDField(required=False)
    limit = serializers.IntegerField(min_value=0, max_value=1000, default=1000)
    offset = serializers.IntegerField(min_value=0, max_value=LARGEST, default=0)

    def page(self) -> tuple[int, int]:
        """Return limit and offset."""
        return self.validated_data["limit"], self.validated_data["offset"]

    def build_prompt_filters(self, prefix: str = "") -> PromptFilters:
        """Return the filters on prompts; their names are read from parameters that start with `prefix`."""
        data = self.validated_data
        names = {name: data.get(prefix + name) for name in ("name", "name_startswith")}
        return PromptFilters(data.get("project_id"), data.get("project_name"), data.get("prompt_id"), **names)


class DefinitionsQuery(PromptsQuery):
    """The query of GET /v1/prompt-definitions."""

    name = serializers.CharField(required=False, trim_whitespace=False)
    name_startswith = serializers.CharField(required=False, trim_whitespace=False)


class RevisionsQuery(PromptsQuery):
    """The query of GET /v1/prompt-revisions."""

    prompt_name = serializers.CharField(required=False, trim_whitespace=False)
    prompt_name_startswith = serializers.CharField(required=False, trim_whitespace=False)
    revision = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST)
    revision_id = serializers.UUIDField(required=False)
    label = serializers.CharField(required=False, trim_whitespace=False)  # type: ignore[assignment]  # DRF's own `label`
    normalized_body_sha256 = serializers.CharField(required=False, max_length=64)
    latest_revision_only = serializers.BooleanField(default=False)

    def filters(self) -> RevisionFilters:
        """Return which of their revisions are meant."""
        data = self.validated_data
        return RevisionFilters(
            id=data.get("revision_id"),
            number=data.get("revision"),
            label=data.get("label"),
            body_sha256=data.get("normalized_body_sha256"),
            latest_only=data["latest_revision_only"],
        )


class PromptDeletionQuery(serializers.Serializer[Any]):
    """The query of DELETE /v1/prompt-definitions: at least one of them."""

    prompt_id = serializers.UUIDField(required=False)
    project_id = serializers.UUIDField(required=False)


class PromptDefinitionFacts(AnswerShape):
    """A prompt under its name."""

    id: uuid.UUID
    name: str
    description: str | None
    project_id: uuid.UUID
    project_name: str
    latest_revision: int | None
    created_at: Moment
    updated_at: Moment


class PromptDefinitionAnswer(AnswerWithWarnings):
    """One prompt."""

    prompt_definition: PromptDefinitionFacts


class PromptDefinitionPage(AnswerWithWarnings):
    """Prompts, the newest first."""

    prompt_definitions: list[PromptDefinitionFacts]


class PromptRevisionFacts(AnswerShape):
    """One frozen text of a prompt."""

    id: uuid.UUID
    prompt_definition_id: uuid.UUID
    prompt_definition_name: str
    project_id: uuid.UUID
    project_name: str
    revision: int
    body: str
    normalized_body_sha256: str
    metadata: Json
    labels: list[str]
    created_at: Moment
    label_evidence: Annotated[
        dict[str, LabelEvidence] | UnsetType,
        Meta(description="By label what it rests on, only where the winner of an experiment was given one."),
    ] = UNSET


class PromptRevisionAnswer(AnswerWithWarnings):
    """One revision."""

    prompt_revision: PromptRevisionFacts


class PromptRevisionPage(AnswerWithWarnings):
    """Revisions, the newest of each prompt first."""

    prompt_revisions: list[PromptRevisionFacts]


def prompt_definition_out(row: Prompt) -> PromptDefinitionFacts:
    """Return a prompt as the API shows it."""
    return build_shape(
        row, PromptDefinitionFacts, project_name=row.project.name, latest_revision=row.n_revisions or None
    )


def prompt_revision_out(row: PromptRevision) -> PromptRevisionFacts:
    """Return a revision as the API shows it."""
    labels = list(row.labels.all())
    evidence = {label.name: evidence_from(label.evidence) for label in labels if label.evidence is not None}
    return build_shape(
        row,
        PromptRevisionFacts,
        prompt_definition_id=row.prompt_id,
        prompt_definition_name=row.prompt.name,
        project_id=row.prompt.project_id,
        project_name=row.prompt.project.name,
        revision=row.number,
        normalized_body_sha256=row.body_sha256,
        labels=[label.name for label in labels],
        label_evidence=evidence or UNSET,
    )


class PromptDefinitionsView(AccountView):
    """The account's prompts."""

    @extend_schema(
        operation_id="list_prompt_definitions",
        tags=["prompts"],
        parameters=[DefinitionsQuery],
        responses=answers_with(PromptDefinitionPage),
    )
    def get(self, request: Request) -> Response:
        """List prompts, newest first. `warnings` names unknown parameters."""
        query = DefinitionsQuery(data=get_query_params(request))
        self.validate_lenient(query)
        limit, offset = query.page()
        prompts = list_prompts(account=self.account, filters=query.build_prompt_filters())
        rows = self.get_offset_list(request).take_page(prompts, limit=limit, offset=offset)
        return Response(PromptDefinitionPage(prompt_definitions=[prompt_definition_out(row) for row in rows]))

    @extend_schema(
        operation_id="delete_prompt_definitions",
        tags=["prompts"],
        parameters=[PromptDeletionQuery],
        responses={204: OpenApiResponse(description="Gone, with all revisions and labels.")},
    )
    def delete(self, request: Request) -> Response:
        """Delete a prompt, or all prompts of a project, with their revisions. At least one of both has to be named."""
        # An unknown parameter was to narrow it.
        query = validate_strict(PromptDeletionQuery(data=get_unique_query_params(request)))
        services.delete_prompts(
            account=self.account,
            id=query.get("prompt_id"),
            project_id=query.get("project_id"),
            actor=self.caller.actor,
        )
        return Response(status=204)


class PromptDefinitionView(AccountView):
    """One prompt."""

    @extend_schema(
        operation_id="update_prompt_definition",
        tags=["prompts"],
        request=body_schema(DefinitionBody),
        responses=answers_with(PromptDefinitionAnswer),
    )
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Change the name or the description; what is null or left out stays."""
        prompt = get_prompt(account=self.account, id=id)
        body = self.decode_body(request, DefinitionBody)
        row = services.describe_prompt(
            account=self.account,
            prompt=prompt,
            name=body.name,
            description=body.description,
            actor=self.caller.actor,
        )
        return Response(PromptDefinitionAnswer(prompt_definition=prompt_definition_out(row)))


class PromptRevisionsView(AccountView):
    """Frozen texts."""

    @extend_schema(
        operation_id="list_prompt_revisions",
        tags=["prompts"],
        parameters=[RevisionsQuery],
        responses=answers_with(PromptRevisionPage),
    )
    def get(self, request: Request) -> Response:
        """List revisions, the newest of each prompt first. `warnings` names unknown parameters."""
        query = RevisionsQuery(data=get_query_params(request))
        self.validate_lenient(query)
        limit, offset = query.page()
        rows = list_prompt_revisions(
            account=self.account, of=query.build_prompt_filters("prompt_"), filters=query.filters()
        )
        offset_list = self.get_offset_list(request)
        if offset:
            rows = offset_list.continue_list(rows)
        page = page_of_revisions(rows, limit=limit, offset=offset)
        if page and not offset:
            offset_list.begin_list(rows)
        return Response(PromptRevisionPage(prompt_revisions=[prompt_revision_out(row) for row in page]))

    @extend_schema(
        operation_id="create_prompt_revision",
        tags=["prompts"],
        request=body_schema(NewRevisionBody),
        responses=answers_with(PromptRevisionAnswer),
    )
    def post(self, request: Request) -> Response:
        """Freeze a text as the next revision of a prompt, which is made where its name is new in the project."""
        body = self.decode_body(request, NewRevisionBody)
        row = services.add_prompt_revision(
            account=self.account,
            place=body.place(),
            text=body.text(),
            description=body.prompt_description,
            only_new=body.create_only_if_not_exists,
            actor=self.caller.actor,
        )
        return Response(PromptRevisionAnswer(prompt_revision=prompt_revision_out(row)))


class SetLabelsView(AccountView):
    """Labels that are put on a revision."""

    # The call is idempotent, and a stored response would be wrong once another call has moved a label.
    remembers_tries = ()

    @extend_schema(
        operation_id="set_prompt_labels",
        tags=["prompts"],
        request=body_schema(LabelsBody),
        responses={204: OpenApiResponse(description="The revision has the labels, and no other of the prompt.")},
    )
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Put labels on a revision. They move here from other revisions of the prompt."""
        revision = get_prompt_revision(account=self.account, id=id)
        labels = self.decode_body(request, LabelsBody).labels
        services.set_prompt_labels(account=self.account, revision=revision, labels=labels, actor=self.caller.actor)
        return Response(status=204)


class RemoveLabelsView(AccountView):
    """Labels that are taken off a revision."""

    remembers_tries = ()

    @extend_schema(
        operation_id="remove_prompt_labels",
        tags=["prompts"],
        request=body_schema(LabelsBody),
        responses={204: OpenApiResponse(description="The revision has none of the labels.")},
    )
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Take labels off a revision; those that it does not have are ignored."""
        revision = get_prompt_revision(account=self.account, id=id)
        labels = self.decode_body(request, LabelsBody).labels
        services.remove_prompt_labels(account=self.account, revision=revision, labels=labels, actor=self.caller.actor)
        return Response(status=204)
