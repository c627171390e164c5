"""Retries: what is sent again, with which key, after how long; against the real service behind a bad line."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import httpx
import pytest

from evalsvc.client import (
    Client,
    ConfigurationError,
    InvalidError,
    NotFoundError,
    RateLimitError,
    ServerError,
    UnreachableError,
)
from evalsvc.client.service.transport import Transport
from tests.client.bad_line import BadLine, answering, lost
from tests.conftest import Caller, scores_of


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The pauses that this test's own calls would have made; other threads of the process wait as ever."""
    found: list[float] = []
    caller, wait = threading.current_thread(), threading.Event.wait

    def note(event: threading.Event, timeout: float | None = None) -> bool:
        if threading.current_thread() is not caller:
            return wait(event, timeout)
        found.append(timeout or 0.0)
        return False

    monkeypatch.setattr(threading.Event, "wait", note)
    yield found


def reached(web: str, caller: Caller, line: BadLine, retries: int = 3) -> Client:
    return Client(web, caller.key, retries=retries, http_transport=line)


def test_an_answer_that_is_lost_does_not_double_the_history(web: str, alice: Caller, pauses: list[float]) -> None:
    line = BadLine(after=[lost])
    with reached(web, alice, line) as client:
        result = client.evaluate(["exact-match"], output="a", gold="a", capture="all")

    assert result.passed
    assert len(scores_of(alice, "exact-match")) == 1
    assert len(line.sent) == 2
    assert line.keys[0] == line.keys[1] is not None


def test_two_calls_have_two_keys(web: str, alice: Caller) -> None:
    line = BadLine()
    with reached(web, alice, line) as client:
        for _ in range(2):
            client.evaluate(["exact-match"], output="a", gold="a", capture="all")

    assert len(set(line.keys)) == 2
    assert len(scores_of(alice, "exact-match")) == 2


def test_a_get_has_no_key(web: str, alice: Caller) -> None:
    line = BadLine()
    with reached(web, alice, line) as client:
        client.whoami()

    assert line.keys == [None]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_it_retries_what_may_get_better(web: str, alice: Caller, pauses: list[float], status: int) -> None:
    line = BadLine(before=[answering(status), answering(status)])
    with reached(web, alice, line) as client:
        assert client.whoami()

    assert len(line.sent) == 3


def test_it_waits_for_a_twin_that_still_runs(web: str, alice: Caller, pauses: list[float]) -> None:
    line = BadLine(before=[answering(409, "in_progress", Retry_After="1")])
    with reached(web, alice, line) as client:
        assert client.whoami()

    assert pauses[0] >= 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_it_does_not_retry_what_stays_wrong(web: str, alice: Caller, pauses: list[float], status: int) -> None:
    line = BadLine(before=[answering(status, "some_code")])
    with reached(web, alice, line) as client, pytest.raises(Exception, match="Not now") as caught:
        client.whoami()

    assert caught.value.status == status  # type: ignore[attr-defined]
    assert len(line.sent) == 1


def test_it_waits_as_long_as_the_service_asks(web: str, alice: Caller, pauses: list[float]) -> None:
    line = BadLine(before=[answering(429, "too_many_requests", Retry_After="7")])
    with reached(web, alice, line) as client:
        client.whoami()

    assert 7 <= pauses[0] <= 7.25


def test_it_reads_the_end_of_the_window(web: str, alice: Caller, pauses: list[float]) -> None:
    line = BadLine(before=[answering(429, "too_many_requests", RateLimit='"minute";r=0;t=12, "month";r=9;t=99999')])
    with reached(web, alice, line) as client:
        client.whoami()

    assert 12 <= pauses[0] <= 12.25


def test_it_does_not_wait_for_next_month(web: str, alice: Caller, pauses: list[float]) -> None:
    line = BadLine(before=[answering(429, "too_many_requests", Retry_After="86400")])
    with reached(web, alice, line) as client, pytest.raises(RateLimitError) as caught:
        client.whoami()

    assert caught.value.code == "too_many_requests"
    assert pauses == []


def test_pauses_grow_and_have_jitter(web: str, alice: Caller, pauses: list[float]) -> None:
    for _ in range(6):
        line = BadLine(before=[answering(503)] * 4)
        with reached(web, alice, line) as client, pytest.raises(ServerError):
            client.whoami()

    rounds = [pauses[i : i + 3] for i in range(0, len(pauses), 3)]
    assert all(0 <= pause <= 0.25 * 2**i for one in rounds for i, pause in enumerate(one))
    assert len(set(pauses)) > 10


def test_the_last_failure_is_raised(web: str, alice: Caller, pauses: list[float]) -> None:
    line = BadLine(before=[lost] * 4)
    with reached(web, alice, line) as client, pytest.raises(UnreachableError, match="the line is cut") as caught:
        client.whoami()

    assert caught.value.code == "unreachable"
    assert len(line.sent) == 4


def test_a_proxy_s_page_becomes_an_error(web: str, alice: Caller, pauses: list[float]) -> None:
    line = BadLine(before=[lambda request, response: httpx.Response(404, content=b"<html>no</html>")])
    with reached(web, alice, line) as client, pytest.raises(Exception, match="answered 404") as caught:
        client.whoami()

    assert caught.value.code == "http_404"  # type: ignore[attr-defined]


def test_nobody_listens() -> None:
    with Client("http://127.0.0.1:9", "ek_a.b", retries=0) as client, pytest.raises(UnreachableError) as caught:
        client.whoami()

    assert caught.value.remedy


def test_the_address_and_the_key_come_from_the_environment(
    web: str, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSVC_BASE_URL", f"{web}/")
    monkeypatch.setenv("EVALSVC_API_KEY", alice.key)
    with Client() as client:
        assert client.whoami()["api_key"]["account"]["id"] == str(alice.account.pk)


@pytest.mark.parametrize(("missing", "code"), [("EVALSVC_BASE_URL", "no_base_url"), ("EVALSVC_API_KEY", "no_api_key")])
def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, missing: str, code: str) -> None:
    monkeypatch.setenv("EVALSVC_BASE_URL", "http://localhost")
    monkeypatch.setenv("EVALSVC_API_KEY", "ek_a.b")
    monkeypatch.delenv(missing)
    with pytest.raises(ConfigurationError) as caught:
        Client()

    assert caught.value.code == code
    assert missing in caught.value.remedy


def test_a_word_is_no_address() -> None:
    with Client("localhost", "ek_a.b") as client, pytest.raises(ConfigurationError, match="not an address"):
        client.whoami()


def test_infinity_is_not_sent(client: Client) -> None:
    with pytest.raises(ValueError, match="JSON"):
        client.evaluate(["exact-match"], output="a", gold="a", tags={"x": float("nan")})  # type: ignore[dict-item]


def test_errors_never_hold_the_key(web: str, alice: Caller) -> None:
    with Client(web, alice.key) as client, pytest.raises(InvalidError) as caught:
        client.evaluate([], output="a")

    assert alice.key not in str(caught.value)
    assert alice.key not in repr(client)


def test_a_download_is_read_as_it_comes_and_not_sent_again(web: str, alice: Caller) -> None:
    line = BadLine()
    with contextlib.closing(Transport(web, alice.key, http_transport=line)) as target:
        lines = b"".join(target.download("/v1/account/export")).splitlines()
        with pytest.raises(NotFoundError):
            list(target.download("/v1/nowhere"))

    assert lines[0].startswith(b'{"format":"evalsvc-account"')
    assert lines[-1].startswith(b'{"end":')
    assert len(line.sent) == 2


@pytest.mark.parametrize(("url", "error"), [("ftp://x", ConfigurationError), ("http://127.0.0.1:9", UnreachableError)])
def test_a_download_from_nowhere_says_so(url: str, error: type[Exception]) -> None:
    with contextlib.closing(Transport(url, "ek_x")) as target, pytest.raises(error):
        list(target.download("/v1/account/export"))
