"""Somebody's server for webhooks, and the calls that tests make to it."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from evalsvc.judges.calls.loop import run
from evalsvc.judges.webhooks.signing import post_signed
from evaluators.base import CannotScore, Sample, Score, TransientError
from evaluators.families.webhook import Webhook
from tests.conftest import Caller
from tests.evaluators.samples import make_sample

SAMPLE = make_sample(input="What is it?", output="It is 42.", contexts=("The book says 42.",), gold="42")
GOOD = {"score": 0.75}


class Server(ThreadingHTTPServer):
    """Somebody's server: it keeps what it gets and answers as a test says, the last answer again and again."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.answers: list[Callable[[Handler], None]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/score"

    def says(self, *answers: Any) -> None:
        self.answers = [answer if callable(answer) else body_of(answer) for answer in answers]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves early is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        answers = self.server.answers
        (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    def reply(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def body_of(answer: Any) -> Callable[[Handler], None]:
    content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return lambda handler: handler.reply(200, content)


def status(code: int, **headers: str) -> Callable[[Handler], None]:
    return lambda handler: handler.reply(code, b"{}", **headers)


def trickle(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def hang_up(handler: Handler) -> None:
    handler.close_connection = True


class Out:
    """The seam's one method that webhooks need."""

    def __init__(self, caller: Caller) -> None:
        self._account_id = caller.account.pk

    async def post(self, url: str, payload: Any, settings: Any) -> Any:
        return await post_signed(self._account_id, url, payload, settings)


def rotate(caller: Caller) -> str:
    answer = caller.post("/v1/webhook-secret/rotate")
    assert answer.status_code == 201, answer.content
    secret = answer.json()["webhook_secret"]["secret"]
    assert isinstance(secret, str)
    return secret


def ask(caller: Caller, server: Server, sample: Sample = SAMPLE, *, explain: bool = True, **settings: Any) -> Score:
    effective = {"url": server.url, **settings}
    assert Webhook().check_settings(effective) == []
    return run(Webhook().score_with(sample, effective, Out(caller), explain=explain))  # type: ignore[arg-type]


def failure(caller: Caller, server: Server, **settings: Any) -> tuple[str, bool, str]:
    """Return the code, whether a retry may help, and the sentence."""
    with pytest.raises(CannotScore) as caught:
        ask(caller, server, **settings)
    assert caught.value.detail.endswith(".")
    return caught.value.code, isinstance(caught.value, TransientError), caught.value.detail


def signature(secret: str, headers: dict[str, str], body: bytes) -> str:
    """Sign as the specification says, with HMAC written out after RFC 2104."""
    key = base64.b64decode(secret.removeprefix("whsec_")).ljust(64, b"\0")
    signed = b".".join((headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body))
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in key) + signed).digest()
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in key) + inner).digest()
    return "v1," + base64.b64encode(outer).decode()
