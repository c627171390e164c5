"""What only a real server shows: chunks, smuggling, headers that break lines."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from tests.conftest import CHECKOUT, Caller, stop_group, wait_until
from tests.serving import CONFIGURED

GOOD = json.dumps({"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x"}).encode()


def is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """gunicorn on a socket of its own."""
    with tempfile.TemporaryDirectory(prefix="evalsvc-") as folder:
        path = Path(folder) / "web.sock"
        command = [sys.executable, "-m", "gunicorn", *CONFIGURED, "evalsvc.wsgi:application", "--workers", "1"]
        command += ["--bind", f"unix:{path}", "--log-level", "error"]
        process = subprocess.Popen(command, cwd=CHECKOUT, env=os.environ, start_new_session=True)
        try:
            wait_until(lambda: is_listening(path))
            yield path
        finally:
            stop_group(process)


def talk(server: Path, caller: Caller, head: str, body: bytes = b"", path: str = "/v1/evaluate") -> tuple[int, bytes]:
    """Send a request as written; return the status of the first answer and everything that came back."""
    start = f"POST {path} HTTP/1.1\r\nHost: testserver\r\nX-API-KEY: {caller.key}\r\nConnection: close\r\n"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(server))
        connection.sendall((start + head + "\r\n").encode("latin-1"))
        with contextlib.suppress(OSError):  # the server may have heard enough
            connection.sendall(body)
        answer = b""
        while part := receive(connection):
            answer += part
    return int(answer.split(b" ", 2)[1]), answer


def receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65_536)
    except ConnectionResetError:
        return b""


def in_chunks(body: bytes, size: int = 60_000) -> bytes:
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def test_it_reads_chunks(server: Path, alice: Caller) -> None:
    status, answer = talk(server, alice, "Transfer-Encoding: chunked\r\n", in_chunks(GOOD, 7))

    assert status == 200
    assert b'"status":"success"' in answer


@pytest.mark.parametrize("announced", [True, False])
def test_it_takes_an_upload_of_ten_megabytes(server: Path, alice: Caller, announced: bool) -> None:
    body = form(b'{"input": "' + b"x" * 1_000_000 + b'"}\n', n=10)
    head = f"Content-Type: {MULTIPART_CONTENT}\r\n"
    head += f"Content-Length: {len(body)}\r\n" if announced else "Transfer-Encoding: chunked\r\n"
    status, answer = talk(server, alice, head, body if announced else in_chunks(body), "/v1/datasets")

    assert status == 200
    assert b'"n_examples":10' in answer


def form(line: bytes, n: int) -> bytes:
    file = SimpleUploadedFile("rows.jsonl", line * n)
    return encode_multipart(BOUNDARY, {"dataset_name": "large", "file": file})


@pytest.mark.parametrize("announced", [True, False])
def test_it_refuses_ten_megabytes(server: Path, alice: Caller, announced: bool) -> None:
    body = b'{"output":"' + b"x" * 10_000_000 + b'"}'
    head = f"Content-Length: {len(body)}\r\n" if announced else "Transfer-Encoding: chunked\r\n"
    status, answer = talk(server, alice, head, body if announced else in_chunks(body))

    assert status == 413
    assert b"application/problem+json" in answer


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 1e3\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "X-Request-ID: a\x00b\r\nContent-Length: 0\r\n",
        "X Request ID: abcdefgh\r\nContent-Length: 0\r\n",
    ],
)
def test_it_refuses_what_could_be_read_two_ways(server: Path, alice: Caller, head: str) -> None:
    status, answer = talk(server, alice, head, in_chunks(GOOD))

    assert status in (400, 501)
    assert answer.count(b"HTTP/1.1") == 1
    assert_is_last_problem(answer, status)


def assert_is_last_problem(answer: bytes, status: int) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Content-Type: application/problem+json" in head
    assert b"Connection: close" in head
    assert b"Permissions-Policy: " in head
    problem = json.loads(body)
    assert problem["status"] == status
    assert f"X-Request-ID: {problem['request_id']}".encode() in head


@pytest.mark.parametrize(
    ("path", "head", "status", "code"),
    [
        ("/v1/evaluate?" + "x" * 5000, "", 414, "uri_too_long"),
        ("/v1/evaluate", "X-Long: " + "x" * 9000 + "\r\n", 431, "headers_too_large"),
        ("/v1/evaluate", "X-Many: x\r\n" * 120, 431, "headers_too_large"),
        ("/v1/evaluate", "Transfer-Encoding: secret\r\n", 501, "transfer_coding_unsupported"),
        ("/v1/evaluate", "Expect: secret\r\n", 417, "expectation_failed"),
        ("/v1/evaluate", "secret\r\n", 400, "bad_request"),
        ("/v1/evaluate secret", "", 400, "bad_request"),
    ],
)
def test_what_the_server_refuses_by_itself_is_a_problem(
    server: Path, alice: Caller, path: str, head: str, status: int, code: str
) -> None:
    found, answer = talk(server, alice, head, path=path)

    assert found == status
    assert_is_last_problem(answer, status)
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == code
    assert b"secret" not in answer


@pytest.mark.parametrize("path", ["/v1/evaluate", "/v1/projects", "/v1/traces", "/v1/datasets"])
@pytest.mark.parametrize("body", [b"zz\r\n", b"5\r\nabcdefgh\r\n", b"-1\r\n", b"5;\x01\r\nabcde\r\n0\r\n\r\n"])
def test_chunks_that_make_no_sense_are_the_senders_fault(server: Path, alice: Caller, path: str, body: bytes) -> None:
    kind = MULTIPART_CONTENT if path == "/v1/datasets" else "application/json"
    status, answer = talk(server, alice, f"Content-Type: {kind}\r\nTransfer-Encoding: chunked\r\n", body, path)

    assert status == 400
    assert b'"code":"bad_request"' in answer


def test_a_header_cannot_become_another(server: Path, alice: Caller) -> None:
    head = f"X-Request-ID: abcdefgh%0d%0aSet-Cookie:a=b\r\nPrefer: wait=1%0d%0aX-Evil: 1\r\nContent-Length: {len(GOOD)}\r\n"
    status, answer = talk(server, alice, head, GOOD)

    assert status == 200
    assert b"Set-Cookie" not in answer
    assert b"X-Evil" not in answer


@pytest.mark.parametrize("header", ["X_API_KEY", "X-Api_Key"])
def test_an_underscore_is_not_a_dash(server: Path, alice: Caller, header: str) -> None:
    """A proxy that cleans `X-API-KEY` lets `X_API_KEY` through: both must not be the same header here."""
    anonymous = Caller(None, "none")
    status, _ = talk(server, anonymous, f"{header}: {alice.key}\r\nContent-Length: {len(GOOD)}\r\n", GOOD)

    assert status == 401
