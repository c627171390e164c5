"""Which addresses, URLs and headers a call may have."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest
from django.test import override_settings

from evalsvc.outbound import guard
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.guard import check_headers, check_url, is_refused, may_connect, resolve_addresses
from tests.outbound.conftest import networks

_refused = (
    "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.254 "
    "169.254.169.254 169.254.0.1 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 "
    "198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16 "
    ":: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::1 "
    "64:ff9b::808:808 ::ffff:0:127.0.0.1 ::ffff:0:10.0.0.1 100::1 2001::1 2001:0:7f00:1:: 2001:db8::1 2002:7f00:1:: 2002:a00:1:: 3fff::1 5f00::1 fc00::1 "
    "fd00:ec2::254 fdff:ffff::1 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1 "
)
REFUSED = _refused.split()
_public = (
    "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 128.0.0.1 169.253.255.255 172.15.0.1 172.32.0.1 "
    "192.0.1.1 192.167.0.1 192.169.0.1 198.17.0.1 198.20.0.1 223.255.255.255 2606:4700:4700::1111 2a00:1450:4001::1 "
    "::ffff:8.8.8.8 2003::1 "
)
PUBLIC = _public.split()


@pytest.mark.parametrize("text", REFUSED)
def test_special_addresses_are_refused(text: str) -> None:
    assert is_refused(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_may_be_called(text: str) -> None:
    assert not is_refused(ip_address(text))


def test_the_operator_allows_networks() -> None:
    allow = networks("10.1.0.0/16", "::1/128")

    assert not is_refused(ip_address("10.1.2.3"), allow=allow)
    assert not is_refused(ip_address("::1"), allow=allow)
    assert not is_refused(ip_address("::ffff:10.1.2.3"), allow=allow)
    assert is_refused(ip_address("10.2.0.1"), allow=allow)
    assert is_refused(ip_address("127.0.0.1"), allow=allow)
    assert is_refused(ip_address("2002:a01:203::"), allow=allow)


def test_plain_http_is_for_allowed_networks() -> None:
    with override_settings(OUTBOUND_ALLOW=networks("10.1.0.0/16"), OUTBOUND_PLAIN_HTTP=False):
        assert may_connect(ip_address("10.1.2.3"), 443, plain=True)
        assert not may_connect(ip_address("8.8.8.8"), 443, plain=True)
        assert may_connect(ip_address("8.8.8.8"), 443, plain=False)
    with override_settings(OUTBOUND_ALLOW=[], OUTBOUND_PLAIN_HTTP=True):
        assert may_connect(ip_address("8.8.8.8"), 443, plain=True)
        assert not may_connect(ip_address("127.0.0.1"), 443, plain=True)


@pytest.mark.parametrize(("port", "is_called"), [(22, False), (6379, False), (443, True), (8000, True), (9999, True)])
def test_public_addresses_are_called_at_usual_ports(nothing_allowed: None, port: int, is_called: bool) -> None:
    assert may_connect(ip_address("8.8.8.8"), port, plain=False) is is_called
    with override_settings(OUTBOUND_PORTS=[range(22, 23)]):
        assert may_connect(ip_address("8.8.8.8"), 22, plain=False)


def test_a_network_that_is_allowed_is_called_at_every_port() -> None:
    with override_settings(OUTBOUND_ALLOW=networks("10.1.0.0/16")):
        assert may_connect(ip_address("10.1.2.3"), 11434, plain=True)
        assert not may_connect(ip_address("8.8.8.8"), 11434, plain=False)
        # A name may lead to that network: only its address tells.
        assert check_url("https://llm.inside.example:11434")


@pytest.mark.parametrize("host", ["8.8.8.8", "llm.example.com"])
def test_a_refused_port_names_the_setting(nothing_allowed: None, host: str) -> None:
    with pytest.raises(OutboundFailed) as caught:
        check_url(f"https://{host}:11434/v1")
    assert caught.value.code == "refused_address"
    assert "port 11434" in caught.value.detail
    assert "EVALSVC_OUTBOUND_PORTS" in caught.value.detail


def test_a_port_is_refused_when_the_name_is_looked_up(monkeypatch: pytest.MonkeyPatch, nothing_allowed: None) -> None:
    resolving(monkeypatch, ["10.0.0.1", "8.8.8.8"])

    with pytest.raises(OutboundFailed) as caught:
        resolve_addresses("mixed.example", 22, plain=False, timeout=60)
    assert "port 22" in caught.value.detail


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Let the resolver give these answers, one after the other; return the names that it is asked for."""
    asked: list[str] = []
    left = list(answers)

    def look_up(host: str, port: int) -> list[str]:
        asked.append(host)
        return left.pop(0)

    monkeypatch.setattr(guard, "resolve_host", look_up)
    return asked


def test_only_good_addresses_of_a_name_are_used(monkeypatch: pytest.MonkeyPatch, nothing_allowed: None) -> None:
    resolving(monkeypatch, ["10.0.0.1", "8.8.8.8", "fe80::1%eth0", "1.1.1.1"])

    assert resolve_addresses("mixed.example", 443, plain=False, timeout=60) == ["8.8.8.8", "1.1.1.1"]


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254"])
def test_names_of_private_addresses_are_refused(
    monkeypatch: pytest.MonkeyPatch, nothing_allowed: None, address: str
) -> None:
    resolving(monkeypatch, [address])

    with pytest.raises(OutboundFailed) as caught:
        resolve_addresses("inside.example", 443, plain=False, timeout=60)
    assert caught.value.code == "refused_address"
    assert address not in caught.value.detail


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "localhost"])
def test_spellings_of_loopback_are_refused(nothing_allowed: None, host: str) -> None:
    with pytest.raises(OutboundFailed) as caught:
        resolve_addresses(host, 443, plain=False, timeout=60)
    assert caught.value.code in ("refused_address", "connection")


@pytest.mark.usefixtures("hanging_resolver")
def test_a_resolver_that_hangs_is_left() -> None:
    with pytest.raises(OutboundFailed) as caught:
        resolve_addresses("slow.example", 443, plain=False, timeout=0.05)
    assert caught.value.code == "timeout"


@pytest.mark.usefixtures("no_names")
def test_a_name_that_is_none_is_a_failed_connection() -> None:
    with pytest.raises(OutboundFailed) as caught:
        resolve_addresses("nobody.example", 443, plain=False, timeout=60)
    assert caught.value.code == "connection"


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.com", "//example.com", "ftp://example.com", "file:///etc/passwd", "gopher://example.com"),
        *("javascript:alert(1)", "https://", "https:///v1", "https://user:pass@example.com", "https://a@b@c"),
        *("https://example.com/#here", "https://example.com/#", "https://example.com:0", "https://example.com:99999"),
        *(
            "https://example.com:x",
            "https://exa mple.com",
            "https://example.com/\r\nHost: a",
            "https://example.com\\@a",
        ),
        *(
            "https://0177.0.0.1",
            "https://127.1",
            "https://2130706433",
            "http://0x7f.1",
            "https://1.2.3.4.",
            "https://a.0x",
        ),
        *("https://exämple.com", "https://[::1", "https://example.com/" + "a" * 2048, "https://example.com/\x00"),
    ],
)
def test_what_is_no_url_of_ours_is_refused(url: str) -> None:
    with pytest.raises(OutboundFailed) as caught:
        check_url(url)
    assert caught.value.code == "bad_url"


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1/v1", "https://[::1]:8000/", "https://169.254.169.254", "http://8.8.8.8"]
)
def test_literal_addresses_are_refused_at_once(nothing_allowed: None, url: str) -> None:
    with pytest.raises(OutboundFailed) as caught:
        check_url(url)
    assert caught.value.code == "refused_address"


@pytest.mark.parametrize(
    "url",
    [
        "https://llm.example.com:9999",
        "http://8.8.8.8.example:80",
        "https://llm.example.com/v1",
        "https://llm.example.com:8443/a?b=c",
        "https://8.8.8.8",
        "http://a.example",
    ],
)
def test_urls_that_may_be_called(nothing_allowed: None, url: str) -> None:
    assert check_url(url).hostname


@pytest.mark.parametrize(
    "headers",
    [
        *({"Host": "inside"}, {"HOST": "a"}, {"Content-Length": "0"}, {"Transfer-Encoding": "chunked"}),
        *({"Connection": "close"}, {"Accept-Encoding": "gzip"}, {"X-A": "b\r\nHost: c"}, {"X-A": "b\nc"}),
        *({"X-A": "b\0"}, {"X A": "b"}, {"X-A:": "b"}, {"": "b"}, {"X-A\r\nHost": "b"}, {"X-A": "ü"}, {"X-A": " b"}),
    ],
)
def test_headers_that_would_change_the_request_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(OutboundFailed) as caught:
        check_headers(headers)
    assert caught.value.code == "bad_header"


def test_ordinary_headers_pass() -> None:
    check_headers({"Authorization": "Bearer x", "X-Api-Key": "a b", "api-version": "2026-01-01", "x": ""})


def test_the_networks_of_the_environment_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.core.exceptions import ImproperlyConfigured

    from evalsvc.env import env_networks

    monkeypatch.setenv("SOME_NETWORKS", "10.1.0.0/16, ::1")
    assert env_networks("SOME_NETWORKS") == networks("10.1.0.0/16", "::1/128")
    monkeypatch.setenv("SOME_NETWORKS", "10.1.0.1/16")
    with pytest.raises(ImproperlyConfigured, match="SOME_NETWORKS"):
        env_networks("SOME_NETWORKS")


def test_the_default_is_closed() -> None:
    from evalsvc.env import env_networks

    found: Any = env_networks("NO_SUCH_VARIABLE_IS_SET", "")
    assert found == []
