"""The secret that an account's webhooks are signed with."""

from __future__ import annotations

import base64
import json
import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from django.test import override_settings

from evalsvc.accounts.models import AuditEntry
from evalsvc.infra.encryption import UnreadableSecret
from evalsvc.judges.connections.secrets import unseal
from evalsvc.judges.models import WebhookSecret
from evalsvc.judges.services import reencrypt_secrets
from evalsvc.rest.models import IdempotencyRecord
from tests.conftest import Caller
from tests.judges.webhook_server import (
    Server,
    ask,
    failure,
    rotate,
    status,
)
from tests.rest.shapes import assert_problem


def test_an_account_starts_without_a_secret(alice: Caller) -> None:
    assert alice.get("/v1/webhook-secret").json() == {"webhook_secret": None}


def test_the_secret_is_shown_once(alice: Caller, bob: Caller, secret: str) -> None:
    answer = bob.get("/v1/webhook-secret")

    assert secret.encode() not in answer.content
    assert answer.json()["webhook_secret"]["last4"] == secret[-5:-1]
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32


def test_a_reader_cannot_rotate(bob: Caller) -> None:
    assert_problem(bob.post("/v1/webhook-secret/rotate"), "read_only_key")


def test_a_stranger_sees_nothing_of_it(charlie: Caller, secret: str) -> None:
    assert charlie.get("/v1/webhook-secret").json() == {"webhook_secret": None}


def test_an_idempotency_key_keeps_no_secret(alice: Caller) -> None:
    first, second = (alice.post("/v1/webhook-secret/rotate", Idempotency_Key="k").json() for _ in range(2))

    assert first["webhook_secret"]["secret"] != second["webhook_secret"]["secret"]
    assert not IdempotencyRecord.objects.using("system").filter(account_id=alice.account.pk).exists()


def stored(caller: Caller) -> WebhookSecret:
    return WebhookSecret.objects.using("system").get(account_id=caller.account.pk)


def test_the_secret_is_encrypted_at_rest(alice: Caller, secret: str) -> None:
    row = stored(alice)

    assert secret.encode() not in bytes(row.secret)
    assert unseal(bytes(row.secret), of=row.id).key == secret


def test_a_secret_moved_to_another_account_cannot_be_read(alice: Caller, charlie: Caller, secret: str) -> None:
    rotate(charlie)

    with pytest.raises(UnreadableSecret):
        unseal(bytes(stored(alice).secret), of=stored(charlie).id)


def test_two_that_rotate_at_once_take_turns(alice: Caller) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: rotate(alice), range(4)))

    row = stored(alice)
    kept = [unseal(bytes(each or b""), of=row.id).key for each in (row.secret, row.previous)]
    assert len(set(made)) == 4
    assert set(kept) <= set(made)
    assert len(set(kept)) == 2


def test_rotating_is_in_the_audit_trail_without_the_secret(alice: Caller, secret: str) -> None:
    (entry,) = AuditEntry.objects.using("system").filter(account_id=alice.account.pk, action="webhook_secret.rotated")

    assert secret not in json.dumps([entry.target, entry.detail])


@override_settings(ENCRYPTION_KEYS=[])
def test_without_encryption_keys_no_secret_is_made(alice: Caller) -> None:
    assert_problem(alice.post("/v1/webhook-secret/rotate"), "validation_failed")


def test_an_unreadable_secret_is_not_configured(alice: Caller, secret: str, server: Server) -> None:
    from cryptography.fernet import Fernet

    with override_settings(ENCRYPTION_KEYS=[Fernet.generate_key().decode()]):
        assert failure(alice, server)[:2] == ("not_configured", False)
    assert server.seen == []


def test_encryption_keys_can_be_changed(alice: Caller, secret: str) -> None:
    from cryptography.fernet import Fernet
    from django.conf import settings as django_settings

    old, new = django_settings.ENCRYPTION_KEYS, Fernet.generate_key().decode()
    rotate(alice)
    with override_settings(ENCRYPTION_KEYS=[new, *old]):
        reencrypt_secrets()
    row = stored(alice)
    with override_settings(ENCRYPTION_KEYS=[new]):
        assert unseal(bytes(row.previous or b""), of=row.id).key == secret
    with override_settings(ENCRYPTION_KEYS=[*old, new]):
        reencrypt_secrets()


def test_neither_the_secret_nor_the_signature_is_logged(
    alice: Caller, secret: str, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        ask(alice, server)
        server.says(status(500))
        failure(alice, server)
        connections.close_all()

    assert secret.removeprefix("whsec_") not in caplog.text
    assert server.seen[0][1]["webhook-signature"] not in caplog.text
    assert "It is 42." not in caplog.text
