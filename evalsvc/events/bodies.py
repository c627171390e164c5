"""Input fields of an event endpoint, for the API and the console's form."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from evalsvc.accounts.views import validate_strict
from evalsvc.events.mails import SCHEME
from evalsvc.events.models import EventEndpoint, EventType
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.guard import check_url
from evalsvc.rest.bodies.fields import StrictText

MOST_RULES = 100


class EventRulesIn(serializers.Serializer[Any]):
    """Which failing verdicts an endpoint is told of; what is left out narrows nothing."""

    evaluators = serializers.ListField(child=StrictText(max_length=100), required=False, max_length=MOST_RULES)
    profiles = serializers.ListField(child=StrictText(max_length=120), required=False, max_length=MOST_RULES)
    project_ids = serializers.ListField(child=serializers.UUIDField(), required=False, max_length=MOST_RULES)
    max_score = serializers.FloatField(required=False)


class EventEndpointIn(serializers.Serializer[Any]):
    """A new endpoint."""

    url = StrictText(max_length=2048)
    event_types = serializers.ListField(
        child=serializers.ChoiceField(choices=EventType.values),
        min_length=1,
        max_length=len(EventType.values),
        error_messages={"min_length": "Choose at least one event."},
    )
    format = serializers.ChoiceField(choices=EventEndpoint.Format.values, required=False)
    routing_key = serializers.RegexField(
        r"\A[A-Za-z0-9]{32}\Z", required=False, error_messages={"invalid": "The 32 characters of an integration's key."}
    )
    rules = EventRulesIn(required=False)
    per_hour = serializers.IntegerField(required=False, min_value=1, max_value=100_000)
    is_enabled = serializers.BooleanField(required=False)

    def validate_url(self, value: str) -> str:
        """Reject a URL that nothing is sent to, together with any other errors; e-mail's is checked with its format."""
        if value.startswith(SCHEME):
            return value
        try:
            check_url(value)
        except OutboundFailed as failed:
            raise serializers.ValidationError(failed.detail) from None
        return value

    def fields_of(self) -> dict[str, Any]:
        """Return what the service shall write."""
        fields = dict(validate_strict(self))
        if "rules" in fields:
            rules = dict(fields["rules"])
            if "project_ids" in rules:
                rules["project_ids"] = [str(id) for id in rules["project_ids"]]
            fields["rules"] = rules
        return fields
