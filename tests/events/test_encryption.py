"""Secrets of endpoints under a new encryption key."""

from __future__ import annotations

from cryptography.fernet import Fernet
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from evalsvc.events.models import EventEndpoint
from evalsvc.events.sender import endpoint_keys
from evalsvc.judges.services import reencrypt_secrets
from evalsvc.judges.webhooks.secrets import signing_key
from tests.conftest import Caller
from tests.events.shapes import ENDPOINTS, new_endpoint


def test_both_secrets_of_an_endpoint_move_to_the_newest_key(alice: Caller) -> None:
    made = new_endpoint(alice)
    rotated = alice.post(f"{ENDPOINTS}/{made['id']}/rotate").json()["event_endpoint"]
    new = Fernet.generate_key().decode()
    before = list(settings.ENCRYPTION_KEYS)
    with override_settings(ENCRYPTION_KEYS=[new, *before]):
        reencrypt_secrets()
    row = EventEndpoint.objects.using("system").get(pk=made["id"])
    with override_settings(ENCRYPTION_KEYS=[new]):
        keys = endpoint_keys(row, timezone.now())
    # What else the database holds belongs to other tests.
    with override_settings(ENCRYPTION_KEYS=[*before, new]):
        reencrypt_secrets()

    assert keys == [signing_key(rotated["secret"]), signing_key(made["secret"])]
