"""Secrets at rest: sealed to their connection, and carried from an old key to a new one."""

from __future__ import annotations

import uuid
from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings

from evalsvc.events.models import EventEndpoint
from evalsvc.infra.encryption import NoEncryptionKeys, UnreadableSecret, encrypt_anew
from evalsvc.judges.connections.secrets import Secret, seal, unseal
from evalsvc.judges.failures import UnusableConnection
from evalsvc.judges.models import Connection, WebhookSecret
from evalsvc.judges.selectors import connection_facts
from tests.conftest import Caller
from tests.judges.conftest import KEY, made

SECRET = Secret(KEY, {"X-A": "b"})


def test_it_opens_what_it_sealed() -> None:
    id = uuid.uuid4()

    assert unseal(seal(SECRET, of=id), of=id) == SECRET


def test_a_secret_cannot_be_moved_to_another_row() -> None:
    with pytest.raises(UnreadableSecret):
        unseal(seal(SECRET, of=uuid.uuid4()), of=uuid.uuid4())


def test_what_was_changed_is_not_opened() -> None:
    id = uuid.uuid4()
    sealed = seal(SECRET, of=id)

    with pytest.raises(UnreadableSecret):
        unseal(sealed[:-8] + b"AAAAAAA=", of=id)


def test_the_newest_key_seals_and_all_open() -> None:
    old, new, id = Fernet.generate_key().decode(), Fernet.generate_key().decode(), uuid.uuid4()
    with override_settings(ENCRYPTION_KEYS=[old]):
        sealed = seal(SECRET, of=id)
    with override_settings(ENCRYPTION_KEYS=[new, old]):
        assert unseal(sealed, of=id) == SECRET
        moved = encrypt_anew(sealed)
    with override_settings(ENCRYPTION_KEYS=[new]):
        assert unseal(moved, of=id) == SECRET
        with pytest.raises(UnreadableSecret):
            unseal(sealed, of=id)


@pytest.mark.parametrize("keys", [[], ["not a key"]])
def test_without_keys_nothing_is_sealed(keys: list[str]) -> None:
    with override_settings(ENCRYPTION_KEYS=keys), pytest.raises(NoEncryptionKeys):
        seal(SECRET, of=uuid.uuid4())


def test_without_keys_a_connection_with_a_key_is_refused(alice: Caller) -> None:
    from tests.judges.conftest import body

    with override_settings(ENCRYPTION_KEYS=[]):
        refused = alice.post("/v1/connections", body())
        assert alice.post("/v1/connections", body(key="")).status_code == 201

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/key")


def test_a_lost_key_is_told_and_a_new_secret_mends_it(alice: Caller) -> None:
    connection = made(alice)
    path = f"/v1/connections/{connection['id']}"
    with override_settings(ENCRYPTION_KEYS=[Fernet.generate_key().decode()]):
        with pytest.raises(UnusableConnection, match="cannot be decrypted"):
            connection_facts(account_id=alice.account.pk, ref=connection["id"])
        assert alice.patch(path, {"rpm": 3}).status_code == 200
        assert alice.patch(path, {"key": "new"}).status_code == 422
        assert alice.patch(path, {"key": "new", "headers": {}}).status_code == 200
        assert connection_facts(account_id=alice.account.pk, ref=connection["id"]).key == "new"


def test_the_command_moves_every_secret_to_the_newest_key(alice: Caller, charlie: Caller) -> None:
    ids = [made(caller)["id"] for caller in (alice, charlie)]
    Connection.objects.using("system").exclude(id__in=ids).update(secret=None)
    WebhookSecret.objects.using("system").all().delete()
    EventEndpoint.objects.using("system").all().delete()
    Authenticator.objects.using("system").all().delete()
    new = Fernet.generate_key().decode()
    out = StringIO()
    with override_settings(ENCRYPTION_KEYS=[new, *settings.ENCRYPTION_KEYS]):
        call_command("rotate_encryption", stdout=out)
    with override_settings(ENCRYPTION_KEYS=[new]):
        assert connection_facts(account_id=alice.account.pk, ref=ids[0]).key == KEY
        assert connection_facts(account_id=charlie.account.pk, ref=ids[1]).key == KEY
    assert "2 secrets" in out.getvalue()
    Connection.objects.using("system").filter(id__in=ids).update(secret=None)


def test_the_command_names_what_it_cannot_read(alice: Caller) -> None:
    id = made(alice)["id"]
    Connection.objects.using("system").exclude(id=id).update(secret=None)
    WebhookSecret.objects.using("system").all().delete()
    EventEndpoint.objects.using("system").all().delete()
    Authenticator.objects.using("system").all().delete()

    with override_settings(ENCRYPTION_KEYS=[Fernet.generate_key().decode()]), pytest.raises(CommandError, match=id):
        call_command("rotate_encryption", stdout=StringIO())
