"""The line of a request, through the real gunicorn: whose it was and how it went, and nothing of what it said."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import Caller, wait_until
from tests.factories import make_dataset, new_caller
from tests.ops.backups import call
from tests.serving import serving

TEXT = "a text that nobody may read in a log"


@dataclass
class Logged:
    """A service, and the lines of access that it has written."""

    url: str
    log: Path

    def lines(self) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in found if line["logger"] == "evalsvc.access"]

    def line(self, **wanted: Any) -> dict[str, Any]:
        """Wait for the first line with these values."""

        def found() -> list[dict[str, Any]]:
            return [line for line in self.lines() if all(line.get(name) == value for name, value in wanted.items())]

        return wait_until(found, seconds=20)[0]


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logged]:
    log = tmp_path_factory.mktemp("access") / "web.log"
    with serving(log, EVALSVC_LOG_LEVEL="ERROR") as url:
        yield Logged(url, log)


def send(url: str, raw: bytes) -> bytes:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(raw)
        return connection.recv(65536)


def test_an_answer_has_a_line(logged: Logged, alice: Caller) -> None:
    body = {
        "evaluators": [{"evaluator": "exact-match"}],
        "evaluated_model_output": TEXT,
        "evaluated_model_gold_answer": TEXT,
    }
    assert call(logged.url, alice.key, "/v1/evaluate?secret=" + "x" * 40, body)[0] in (200, 422)
    assert call(logged.url, alice.key, "/v1/evaluate", body)[0] == 200

    line = logged.line(route="v1/evaluate", status=200)

    assert (line["method"], line["account_id"]) == ("POST", alice.account.pk)
    assert line["ms"] > 0
    assert line["request_id"].startswith("req_")
    assert set(line) == {
        "time",
        "level",
        "logger",
        "message",
        "request_id",
        "method",
        "route",
        "status",
        "ms",
        "account_id",
    }
    written = logged.log.read_text()
    assert not [secret for secret in (TEXT, alice.key, alice.key.partition(".")[2], "x" * 40) if secret in written]


def test_the_account_is_the_one_of_this_request(logged: Logged, charlie: Caller) -> None:
    """On one connection: Charlie's call, then one with a wrong key."""
    with closing(HTTPConnection(urlsplit(logged.url).netloc, timeout=30)) as connection:
        for key, status in ((charlie.key, 200), ("ek_wrong", 401)):
            connection.request("GET", "/v1/whoami", headers={"X-API-KEY": key})
            answer = connection.getresponse()
            answer.read()
            assert (answer.status, answer.will_close) == (status, False)

    assert logged.line(route="v1/whoami", status=200, account_id=charlie.account.pk)
    assert logged.line(route="v1/whoami", status=401)["account_id"] is None


def test_what_is_no_request_has_one_too(logged: Logged) -> None:
    assert b" 400 " in send(logged.url, b"GET /" + TEXT.encode() + b" and so on\r\n\r\n")
    line = logged.line(route="unread", status=400)
    assert (line["method"], line["account_id"]) == ("other", None)
    assert b" 404 " in send(logged.url, b"BREW /no-such-path HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert logged.line(route="unmatched")["method"] == "other"
    assert "no-such-path" not in logged.log.read_text()


def test_an_answer_in_portions_is_timed_to_its_end(logged: Logged) -> None:
    caller = new_caller(name="portions")
    dataset = make_dataset(caller)
    status, said = call(logged.url, caller.key, f"/v1/datasets/{dataset}/data")
    assert status == 200, said
    line = logged.line(account_id=caller.account.pk)
    assert (line["method"], line["status"]) == ("GET", 200)


def test_it_can_be_switched_off(tmp_path: Path, alice: Caller) -> None:
    with serving(tmp_path / "web.log", EVALSVC_ACCESS_LOG="0") as url:
        assert call(url, alice.key, "/v1/whoami")[0] == 200
        assert b" 400 " in send(url, b"nonsense\r\n\r\n")
    assert "evalsvc.access" not in (tmp_path / "web.log").read_text()
