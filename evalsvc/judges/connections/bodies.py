"""Writable fields of a connection: the request body of the API and the form of the console."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from evalsvc.judges.connections.checks import MAX_SECRET_CHARS
from evalsvc.judges.models import Connection
from evalsvc.rest.bodies.fields import StrictText


def money() -> serializers.DecimalField:
    """Return the field of an optional amount of money."""
    return serializers.DecimalField(
        max_digits=12, decimal_places=6, required=False, allow_null=True, coerce_to_string=False
    )


def limit() -> serializers.IntegerField:
    """Return the field of an optional limit."""
    return serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=2**31 - 1)


def secret_texts() -> serializers.DictField:
    """Return the field of an optional object of secret texts."""
    return serializers.DictField(
        child=StrictText(max_length=MAX_SECRET_CHARS, allow_blank=True),
        required=False,
        allow_null=True,
        write_only=True,
    )


class ExtraBody(serializers.DictField):
    """JSON of any form, held to `checks`; null is an empty object."""


class ConnectionIn(serializers.Serializer[Any]):
    """A new connection."""

    name = StrictText(max_length=100)
    base_url = StrictText(max_length=2048)
    model = StrictText(max_length=200)
    key = StrictText(required=False, allow_null=True, allow_blank=True, max_length=MAX_SECRET_CHARS, write_only=True)
    headers = secret_texts()
    query = secret_texts()
    protocol = serializers.ChoiceField(choices=Connection.Protocol.choices, required=False)
    extra_body = ExtraBody(required=False, allow_null=True)
    max_output_tokens = limit()
    price_input_per_million = money()
    price_output_per_million = money()
    currency = StrictText(required=False, allow_null=True, allow_blank=True, max_length=3)
    timeout_seconds = serializers.FloatField(required=False, max_value=600)
    rpm = limit()
    tpm = limit()
    max_concurrency = limit()
    daily_budget = money()
    is_enabled = serializers.BooleanField(required=False)
    is_default = serializers.BooleanField(required=False)
    sees_images = serializers.BooleanField(required=False)
    hears_audio = serializers.BooleanField(required=False)
