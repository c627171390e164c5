"""How requests of webhook evaluators are signed."""

from __future__ import annotations

import base64
import hmac
import time
from datetime import timedelta
from typing import Any

import orjson
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.judges.webhooks.secrets import rotate_webhook_secret
from evalsvc.judges.webhooks.signing import signed_headers
from tests.conftest import Caller
from tests.evaluators.samples import make_sample
from tests.judges.webhook_server import (
    SAMPLE,
    Server,
    ask,
    failure,
    rotate,
    signature,
)

# How it is signed


def test_the_signature_is_what_the_specification_says(alice: Caller, secret: str, server: Server) -> None:
    ask(alice, server)
    ((_, headers, body),) = server.seen

    assert headers["webhook-signature"] == signature(secret, headers, body)
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    assert headers["webhook-id"].startswith("msg_")


# What releases before the library signed these with.
SIGNED_BEFORE = [
    (bytes(range(32)), "v1,3UZXUkw7HPQPsu6+P93CqITGvwAbr1y1JlfjeNbg/1E="),
    (b"k" * 24, "v1,3FgsFtrGi29FFvXEJOiwyk7xm5mNgSrXdM7iFT2c34Y="),
]


def test_signatures_are_those_of_earlier_releases() -> None:
    body = '{"text":"Köln ✓","n":1}'.encode()
    headers = signed_headers([key for key, _ in SIGNED_BEFORE], "msg_golden", 1763856000, body)

    assert headers == {
        "webhook-id": "msg_golden",
        "webhook-timestamp": "1763856000",
        "webhook-signature": " ".join(signed for _, signed in SIGNED_BEFORE),
    }


@given(
    st.binary(min_size=1, max_size=64),
    st.integers(0, 2**33),
    st.recursive(st.none() | st.text() | st.integers(-(2**53), 2**53), lambda inner: st.lists(inner, max_size=3)),
)
def test_any_body_is_signed_as_the_specification_says(key: bytes, timestamp: int, payload: Any) -> None:
    body = orjson.dumps(payload)
    headers = signed_headers([key], "msg_1", timestamp, body)
    expected = hmac.digest(key, f"msg_1.{timestamp}.".encode() + body, "sha256")

    assert headers["webhook-timestamp"] == str(timestamp)
    assert headers["webhook-signature"] == "v1," + base64.b64encode(expected).decode()


def test_a_new_secret_signs_beside_the_old_one(alice: Caller, secret: str, server: Server) -> None:
    new = rotate(alice)
    ask(alice, server)
    ((_, headers, body),) = server.seen

    assert headers["webhook-signature"].split() == [signature(key, headers, body) for key in (new, secret)]


def test_the_old_secret_ends_after_a_day(alice: Caller, secret: str, server: Server) -> None:
    past = timezone.now() - timedelta(hours=24, seconds=1)
    _, new = rotate_webhook_secret(account=alice.account, now=past, actor="test")
    ask(alice, server)
    ((_, headers, body),) = server.seen

    assert headers["webhook-signature"] == signature(new, headers, body)


def test_only_the_last_two_secrets_sign(alice: Caller, secret: str, server: Server) -> None:
    kept = [rotate(alice), rotate(alice)]
    ask(alice, server)
    ((_, headers, body),) = server.seen

    assert headers["webhook-signature"].split() == [signature(key, headers, body) for key in reversed(kept)]


def test_the_same_evaluation_has_the_same_id(alice: Caller, secret: str, server: Server) -> None:
    for sample in (SAMPLE, SAMPLE, make_sample(output="Another.")):
        ask(alice, server, sample)
    first, second, other = (headers["webhook-id"] for _, headers, _ in server.seen)

    assert first == second != other


def test_two_accounts_have_different_secrets_and_ids(
    alice: Caller, charlie: Caller, secret: str, server: Server
) -> None:
    other = rotate(charlie)
    for caller in (alice, charlie):
        ask(caller, server)
    (_, hers, body), (_, his, same) = server.seen

    assert secret != other
    assert body == same
    assert hers["webhook-id"] != his["webhook-id"]
    assert his["webhook-signature"] == signature(other, his, body) != signature(secret, his, body)


def test_without_a_secret_nothing_is_sent(charlie: Caller, server: Server) -> None:
    assert failure(charlie, server)[:2] == ("not_configured", False)
    assert server.seen == []
