"""Signed requests to an account's own server, after the Standard Webhooks specification (standardwebhooks.com).

The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` let the server know that a request is ours, that
it is recent, and that it has seen it before.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus

import orjson
from standardwebhooks import Webhook

from evalsvc.judges.connections.memory import read_through
from evalsvc.judges.webhooks.secrets import signing_keys
from evalsvc.outbound.client import Answer, post_json_async
from evalsvc.outbound.failures import OutboundFailed
from evaluators.base import CannotScore, JSONValue, Settings, TransientError

MAX_BYTES = 256 * 1024
DEFAULT_SECONDS, MAX_SECONDS = 10.0, 30.0
# A second attempt with too little time left for a response only adds load to a server in trouble.
LEAST_SECONDS = 0.5
PAUSE_SECONDS = 0.25


async def post_signed(account_id: int, url: str, payload: Mapping[str, JSONValue], settings: Settings) -> JSONValue:
    """Post signed JSON to a server of the account, and return its JSON response.

    `timeout_seconds` of the settings covers everything. A server failure (5xx, or no connection) is retried once if
    time permits; nothing else is retried, and redirects are not followed. The same payload to the same URL has the same
    `webhook-id`, regardless of the worker.

    Raises CannotScore `not_configured` (no secret, or a forbidden address) and `webhook_rejected`, and TransientError
    `timeout`, `rate_limited`, `connection` and `bad_output`.
    """
    body = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
    keys = await read_through(account_id, "webhook", None, partial(signing_keys, account_id))
    id = message_id(account_id, url, body)
    deadline = time.monotonic() + get_timeout_seconds(settings)
    try:
        return await _once(url, body, keys, id, deadline)
    except TransientError as failed:
        if failed.code != "connection" or deadline - time.monotonic() < LEAST_SECONDS + PAUSE_SECONDS:
            raise
    await asyncio.sleep(PAUSE_SECONDS)
    return await _once(url, body, keys, id, deadline)


def get_timeout_seconds(settings: Settings) -> float:
    """Return how long a call may take."""
    timeout = settings.get("timeout_seconds")
    return min(float(timeout), MAX_SECONDS) if isinstance(timeout, (int, float)) else DEFAULT_SECONDS


def message_id(account_id: int, url: str, body: bytes) -> str:
    """Return the id of a message: a retry has the id of what it retries."""
    digest = hashlib.blake2b(body, digest_size=18, key=f"{account_id}".encode(), person=b"webhook-id")
    digest.update(url.encode())
    return "msg_" + base64.urlsafe_b64encode(digest.digest()).decode()


def signed_headers(keys: Sequence[bytes], id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the three headers; one signature for each key, so that a server may know either."""
    # In UTC: the library takes the hands of any other clock for those of UTC.
    at, text = datetime.fromtimestamp(timestamp, UTC), body.decode()
    signatures = [Webhook(key).sign(id, at, text) for key in keys]
    return {
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }


async def _once(url: str, body: bytes, keys: Sequence[bytes], id: str, deadline: float) -> JSONValue:
    headers = signed_headers(keys, id, int(time.time()), body)
    remaining = max(deadline - time.monotonic(), 0.001)
    try:
        answer = await post_json_async(url, body, headers=headers, timeout_seconds=remaining, max_bytes=MAX_BYTES)
    except OutboundFailed as failed:
        raise _to_cannot_score(failed) from None
    return _read(answer)


def _to_cannot_score(failed: OutboundFailed) -> CannotScore:
    match failed.code:
        case OutboundFailed.TIMEOUT:
            return TransientError("timeout", "The webhook did not answer in time.")
        case OutboundFailed.CONNECTION:
            return TransientError("connection", f"The webhook cannot be reached. {failed.detail}")
        case OutboundFailed.TOO_LARGE:
            return TransientError("bad_output", f"The webhook answered more than {MAX_BYTES // 1024} kB.")
        case OutboundFailed.BAD_ANSWER:
            return TransientError("bad_output", f"The webhook's answer cannot be read. {failed.detail}")
    return CannotScore("not_configured", f"The webhook cannot be called. {failed.detail}")


def _read(answer: Answer) -> JSONValue:
    status = answer.status
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise TransientError("rate_limited", "The webhook answered HTTP 429: too many requests.")
    if status == HTTPStatus.REQUEST_TIMEOUT:
        raise TransientError("timeout", "The webhook answered HTTP 408: it did not get the request in time.")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise TransientError("connection", f"The webhook failed with HTTP {status}.")
    if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        follow = " Redirects are not followed." if status < HTTPStatus.BAD_REQUEST else ""
        raise CannotScore("webhook_rejected", f"The webhook answered HTTP {status}.{follow}")
    try:
        payload: JSONValue = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise TransientError("bad_output", "The webhook's answer is not JSON.") from None
    return payload
