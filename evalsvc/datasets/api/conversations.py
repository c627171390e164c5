"""POST /v1/datasets/conversations: recorded conversations as examples."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Annotated, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from msgspec import Meta
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.datasets.api.shapes import VersionOut, version_out
from evalsvc.datasets.conversations import Options, add_conversations
from evalsvc.datasets.models import MAX_NAME
from evalsvc.datasets.recorded import INPUTS, REASONS
from evalsvc.datasets.selectors import get_dataset
from evalsvc.rest.answering.shapes import AnswerShape, answers_with, build_enum
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.telemetry.filters import SPAN_FIELDS, telemetry_condition
from evalsvc.telemetry.sessions.recordings import Recording, list_sessions, list_traces, search_recordings

MAX_CONVERSATIONS = 500
SOURCES = ("session_ids", "trace_ids", "filters")
TARGETS = ("dataset_name", "dataset_id")


class ConversationsIn(serializers.Serializer[Any]):
    """Which conversations, and the dataset that gets them."""

    dataset_name = serializers.CharField(max_length=MAX_NAME, required=False)
    dataset_id = serializers.UUIDField(required=False)
    session_ids = serializers.ListField(
        child=serializers.CharField(max_length=255, trim_whitespace=False),
        allow_empty=False,
        max_length=MAX_CONVERSATIONS,
        required=False,
    )
    trace_ids = serializers.ListField(
        child=serializers.RegexField(r"^[0-9a-fA-F]{32}\Z"),
        allow_empty=False,
        max_length=MAX_CONVERSATIONS,
        required=False,
    )
    filters = serializers.ListField(child=serializers.DictField(), required=False)
    limit = serializers.IntegerField(min_value=1, max_value=MAX_CONVERSATIONS, default=100)
    input = serializers.ChoiceField(INPUTS, default=INPUTS[0])
    include_open = serializers.BooleanField(default=False)
    replace = serializers.BooleanField(default=False)


class LeftOutConversation(AnswerShape):
    """A conversation that was not added."""

    id: str
    reason: Annotated[str, build_enum(list(REASONS))]
    detail: str


class ConversationsAdded(AnswerShape):
    """The newest version of the dataset, and what became of each conversation, by id."""

    dataset_id: uuid.UUID
    version: VersionOut
    created: Annotated[bool, Meta(description="Whether the version is new.")]
    added: list[str]
    replaced: list[str]
    grown: Annotated[list[str], Meta(description="Those of the dataset that have more spans than when they were read.")]
    unchanged: list[str]
    left_out: list[LeftOutConversation]
    n_left_out: Annotated[dict[str, int], Meta(description="How many were left out, by reason.")]


class ConversationsView(AccountView):
    """Recorded conversations."""

    @extend_schema(
        operation_id="add_conversations",
        tags=["datasets"],
        request=ConversationsIn,
        responses=answers_with(ConversationsAdded),
    )
    def post(self, request: Request) -> Response:
        """Add recorded conversations to a dataset, each once; a dataset that is named and not there is created."""
        body = validate_strict(ConversationsIn(data=request.data))
        source, target = (_choose(body, names) for names in (SOURCES, TARGETS))
        dataset = get_dataset(account=self.account, id=body[target]) if target == "dataset_id" else body[target]
        asked, recordings = self._find(body, source)
        options = Options(body["input"], include_open=body["include_open"], replace=body["replace"])
        try:
            version, is_new, additions = add_conversations(
                account=self.account,
                dataset=dataset,
                asked=asked,
                recordings=recordings,
                options=options,
                now=timezone.now(),
                actor=self.caller.actor,
            )
        except Invalid as exc:
            raise Invalid(*(FieldError(error.pointer or f"/{source}", error.detail) for error in exc.errors)) from None
        reasons = [exc.reason for _, exc in additions.left_out]
        return Response(
            ConversationsAdded(
                dataset_id=version.dataset_id,
                version=version_out(version),
                created=is_new,
                added=additions.added,
                replaced=additions.replaced,
                grown=additions.grown,
                unchanged=additions.unchanged,
                left_out=[
                    LeftOutConversation(id=id, reason=exc.reason, detail=str(exc)) for id, exc in additions.left_out
                ],
                n_left_out={reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
            )
        )

    def _find(self, body: Mapping[str, Any], source: str) -> tuple[list[str], list[Recording]]:
        """Return the ids that were named, and the recordings."""
        account_id = self.account.pk
        if source == "session_ids":
            ids = list(dict.fromkeys(body[source]))
            return ids, list_sessions(account_id=account_id, ids=ids)
        if source == "trace_ids":
            ids = list(dict.fromkeys(id.lower() for id in body[source]))
            return ids, list_traces(account_id=account_id, ids=ids)
        condition = telemetry_condition(body[source], SPAN_FIELDS)
        return [], search_recordings(account_id=account_id, condition=condition, limit=body["limit"])


def _choose(body: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the one of these fields that was sent. Raises Invalid for none or several."""
    sent = [name for name in names if name in body]
    if len(sent) != 1:
        raise Invalid(FieldError(f"/{sent[1] if sent else names[0]}", f"Send one of {', '.join(names)}."))
    return sent[0]
