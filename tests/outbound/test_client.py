"""Calls over real sockets: what is refused, what is capped, and what is never followed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.judges.calls.loop import run
from evalsvc.outbound import aio, client, guard, network, wires
from evalsvc.outbound.client import Answer
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.for_libraries import async_http_client

LONG = 30.0
_is_awaited = False


@pytest.fixture(autouse=True, params=["in a thread", "awaited"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every promise is kept both ways."""
    global _is_awaited
    _is_awaited = request.param == "awaited"
    yield
    _is_awaited = False


def post_json(*args: Any, **more: Any) -> Answer:
    return run(client.post_json_async(*args, **more)) if _is_awaited else client.post_json(*args, **more)


def chat(stub: RunningStub, model: str, *, seconds: float = LONG, **more: Any) -> Answer:
    body = {"model": model, "messages": [{"role": "user", "content": "hello"}]}
    return post_json(f"{stub.base_url}/chat/completions", body, timeout_seconds=seconds, **more)


def failed(stub: RunningStub, model: str, **more: Any) -> str:
    with pytest.raises(OutboundFailed) as caught:
        chat(stub, model, **more)
    return caught.value.code


def test_it_posts_json(stub: RunningStub) -> None:
    answer = chat(stub, "stub-echo")

    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert b'"content":"hello"' in answer.body


def test_connections_are_kept(stub: RunningStub, monkeypatch: pytest.MonkeyPatch) -> None:
    chat(stub, "stub-echo")
    opened: list[Any] = []
    monkeypatch.setattr(network, "_connect", lambda *args, **more: opened.append(args))
    monkeypatch.setattr(wires, "_connect", lambda *args, **more: opened.append(args))

    assert chat(stub, "stub-echo").status == 200
    assert opened == []


def test_an_error_status_is_an_answer(stub: RunningStub) -> None:
    assert chat(stub, "stub-500").status == 500


def test_a_redirect_is_not_followed(stub: RunningStub) -> None:
    answer = chat(stub, "stub-redirect")

    assert answer.status == 302
    assert "169.254" in answer.headers["location"]


def test_a_server_that_says_nothing_is_left(stub: RunningStub) -> None:
    assert failed(stub, "stub-hang", seconds=0.3) == "timeout"


def test_a_server_that_trickles_is_left(stub: RunningStub) -> None:
    assert failed(stub, "stub-trickle", seconds=0.3) == "timeout"


def test_a_long_answer_is_left(stub: RunningStub) -> None:
    assert failed(stub, "stub-huge", max_bytes=100_000) == "too_large"


def test_a_compressed_answer_counts_as_what_it_expands_to(stub: RunningStub) -> None:
    assert failed(stub, "stub-gzip", max_bytes=100_000) == "too_large"


def test_an_answer_that_breaks_off_is_a_failed_connection(stub: RunningStub) -> None:
    assert failed(stub, "stub-cut") == "connection"


def test_nobody_listening_is_a_failed_connection() -> None:
    with pytest.raises(OutboundFailed) as caught:
        post_json("http://127.0.0.1:9/x", {}, timeout_seconds=LONG)
    assert caught.value.code == "connection"


@contextlib.contextmanager
def server(answer: bytes, *, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve one connection: read something, send these bytes, hang up; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            raw = listening.accept()[0]
            with contextlib.suppress(OSError), raw, context.wrap_socket(raw, True) if context else raw as sock:
                sock.recv(65536)
                sock.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    "answer", [b"-ERR unknown command\r\n", b"", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{}", b"\x00" * 100]
)
def test_a_server_that_speaks_something_else_is_a_failed_connection(answer: bytes) -> None:
    with server(answer) as port, pytest.raises(OutboundFailed) as caught:
        post_json(f"http://127.0.0.1:{port}/x", {}, timeout_seconds=LONG)
    assert caught.value.code == "connection"


def test_a_refused_address_is_not_connected_to(nothing_allowed: None, no_sockets: list[Any]) -> None:
    for url in ("https://localhost:8000/v1", "https://127.0.0.1/v1", "http://localhost/v1"):
        with pytest.raises(OutboundFailed) as caught:
            post_json(url, {}, timeout_seconds=LONG)
        assert caught.value.code == "refused_address"
    assert no_sockets == []


def test_a_name_is_looked_up_once(
    monkeypatch: pytest.MonkeyPatch, nothing_allowed: None, no_sockets: list[Any]
) -> None:
    answers = [["8.8.8.8"], ["127.0.0.1"]]
    asked: list[str] = []

    def look_up(host: str, port: int) -> list[str]:
        asked.append(host)
        return answers.pop(0)

    monkeypatch.setattr(guard, "resolve_host", look_up)
    with pytest.raises(OutboundFailed) as caught:
        post_json("https://rebinding.example/v1", {}, timeout_seconds=LONG)
    assert caught.value.code == "connection"
    assert asked == ["rebinding.example"]
    assert no_sockets == [("8.8.8.8", 443)]

    with pytest.raises(OutboundFailed) as caught:
        post_json("https://rebinding.example/v1", {}, timeout_seconds=LONG)
    assert caught.value.code == "refused_address"
    assert no_sockets == [("8.8.8.8", 443)]


def test_the_next_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch, no_sockets: list[Any]) -> None:
    monkeypatch.setattr(guard, "resolve_host", lambda host, port: ["2606:4700::1", "8.8.8.8"])

    with pytest.raises(OutboundFailed):
        post_json("https://two.example/v1", {}, timeout_seconds=LONG)
    assert no_sockets == [("2606:4700::1", 443), ("8.8.8.8", 443)]


@pytest.fixture(scope="module")
def self_signed(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's context with a certificate that nobody has signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    pem = built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def test_a_certificate_that_nobody_signed_is_refused(self_signed: ssl.SSLContext) -> None:
    with server(b"", context=self_signed) as port, pytest.raises(OutboundFailed) as caught:
        post_json(f"https://localhost:{port}/x", {}, timeout_seconds=LONG)
    assert caught.value.code == "connection"
    assert "certificate" in caught.value.detail


def test_a_server_without_tls_is_a_failed_connection() -> None:
    with server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port, pytest.raises(OutboundFailed) as caught:
        post_json(f"https://localhost:{port}/x", {}, timeout_seconds=LONG)
    assert caught.value.code == "connection"


def test_proxies_of_the_environment_are_not_used(stub: RunningStub, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert chat(stub, "stub-echo").status == 200


def test_the_host_cannot_be_replaced(stub: RunningStub) -> None:
    with pytest.raises(OutboundFailed) as caught:
        chat(stub, "stub-echo", headers={"host": "inside.example"})
    assert caught.value.code == "bad_header"


def test_clients_of_the_transport_need_an_allowance(stub: RunningStub) -> None:
    with pytest.raises(RuntimeError, match="Allowance"):
        run(async_http_client().get(f"{stub.base_url}/models"))


def test_cookies_are_not_kept(stub: RunningStub, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalsvc.outbound.allowance import Allowance

    async def send(*args: Any, **more: Any) -> Any:
        return (200, [(b"Set-Cookie", b"session=of-somebody"), (b"X-A", b"b")], b"{}")

    monkeypatch.setattr(aio.Wires, "send", send)
    with Allowance(seconds=LONG, max_bytes=1000):
        answer = run(async_http_client().get("https://example.com/"))

    assert "set-cookie" not in answer.headers
    assert answer.headers["x-a"] == "b"
    assert len(async_http_client().cookies) == 0


def test_many_threads_share_the_connections(stub: RunningStub) -> None:
    statuses: list[int] = []

    def work() -> None:
        for _ in range(20):
            statuses.append(chat(stub, "stub-echo").status)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 160


FORKED = """
import os, sys
import django; django.setup()
from evalsvc.outbound.client import post_json
from evalsvc.outbound.transport import transport
url = sys.argv[1] + "/chat/completions"
body = {"model": "stub-echo", "messages": [{"content": "hello"}]}
post_json(url, body, timeout_seconds=30)
mine = transport()
pid = os.fork()
if pid == 0:
    ok = transport() is not mine and all(post_json(url, body, timeout_seconds=30).status == 200 for _ in range(20))
    os._exit(0 if ok else 1)
good = all(post_json(url, body, timeout_seconds=30).status == 200 for _ in range(20))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) or (0 if good and transport() is mine else 2))
"""


def test_a_forked_worker_has_connections_of_its_own(stub: RunningStub) -> None:
    command = [sys.executable, "-c", FORKED, stub.base_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=dict(os.environ), check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("hanging_resolver")
def test_a_resolver_that_hangs_is_left() -> None:
    with pytest.raises(OutboundFailed) as caught:
        post_json("https://slow.example/v1", {}, timeout_seconds=0.1)
    assert caught.value.code == "timeout"


@pytest.mark.usefixtures("no_names")
def test_a_name_that_is_none_is_a_failed_connection() -> None:
    with pytest.raises(OutboundFailed) as caught:
        post_json("https://none.example/v1", {}, timeout_seconds=LONG)
    assert caught.value.code == "connection"


def test_who_wants_a_name_at_the_same_time_shares_the_look_up_and_each_is_checked(
    monkeypatch: pytest.MonkeyPatch, nothing_allowed: None, no_sockets: list[Any]
) -> None:
    asked: list[str] = []
    release = threading.Event()

    def look_up(host: str, port: int) -> list[str]:
        asked.append(host)
        assert release.wait(60)
        return ["10.0.0.1"]

    monkeypatch.setattr(guard, "resolve_host", look_up)

    async def many() -> list[Any]:
        calls = [client.post_json_async("https://many.example/v1", {}, timeout_seconds=LONG) for _ in range(50)]
        waiting = asyncio.gather(*calls, return_exceptions=True)
        while not asked:
            await asyncio.sleep(0.01)
        release.set()
        return await waiting

    assert {found.code for found in run(many())} == {"refused_address"}
    assert asked == ["many.example"]
    assert no_sockets == []
