"""What a real gunicorn believes of those in front of it: nothing unless it is told to, and probes need no name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.conf import settings

from tests.conftest import Caller
from tests.serving import serving

PATIENCE = 60.0
BY_ADDRESS = {"Host": "10.1.2.3:8000"}
SECURE = {"X-Forwarded-Proto": "https"}
FORGED: list[dict[str, str]] = [
    SECURE,
    {"X-Forwarded-Ssl": "on"},
    {"X-Forwarded-Protocol": "ssl"},
    {**SECURE, "X-Forwarded-Ssl": "off"},
    {"Forwarded": "proto=https"},
]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Without a proxy, and https is required: so nobody may call the API."""
    with serving(tmp_path_factory.mktemp("web") / "web.log", EVALSVC_REQUIRE_HTTPS="1") as url:
        yield url


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("web") / "web.log"
    with serving(log, EVALSVC_REQUIRE_HTTPS="1", EVALSVC_BEHIND_PROXY="1") as url:
        yield url


def get(url: str, path: str, **headers: str) -> httpx.Response:
    return httpx.get(
        url + path, headers={name.replace("_", "-"): value for name, value in headers.items()}, timeout=PATIENCE
    )


def whoami(url: str, caller: Caller, headers: dict[str, str]) -> tuple[int, Any]:
    answer = get(url, "/v1/whoami", X_API_KEY=caller.key, **headers)
    return answer.status_code, answer.json().get("code")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_asks_by_address(alone: str, path: str) -> None:
    answer = get(alone, path, **BY_ADDRESS)

    assert answer.status_code == 200
    assert "Content-Security-Policy" in answer.headers


def test_a_scraper_asks_by_address_and_with_its_key(alone: str) -> None:
    key = f"Bearer {settings.METRICS_KEY}"

    assert get(alone, "/metrics", **BY_ADDRESS, Authorization=key).status_code == 200
    assert get(alone, "/metrics", **BY_ADDRESS).status_code == 404
    assert get(alone, "/metrics", **BY_ADDRESS, Authorization="Bearer wrong").status_code == 404


@pytest.mark.parametrize("path", ["/", "/healthz/", "/readyz/x", "/docs/", "/admin/login/", "/v1/whoami"])
def test_all_else_needs_a_name_of_ours(behind: str, path: str) -> None:
    answer = get(behind, path, **BY_ADDRESS, **SECURE)

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


def test_cookies_are_bound_to_the_host(behind: str) -> None:
    answer = get(behind, "/console/sign-in", **SECURE)

    assert answer.status_code == 200
    cookies = answer.headers.get_list("Set-Cookie")
    assert [cookie.partition("=")[0] for cookie in cookies] == ["__Host-csrftoken"]
    assert all("; Path=/;" in cookie and "; Secure" in cookie and "Domain" not in cookie for cookie in cookies)


@pytest.mark.parametrize("path", ["/healthz", "/v1/whoami", "/console/sign-in"])
def test_answers_do_not_name_the_software(behind: str, path: str) -> None:
    assert get(behind, path, **SECURE).headers.get_list("Server") == ["evalsvc"]


def test_a_probe_may_only_look(alone: str) -> None:
    assert httpx.post(f"{alone}/healthz", headers=BY_ADDRESS, timeout=PATIENCE).status_code == 405


@pytest.mark.parametrize("headers", FORGED, ids=" ".join)
def test_without_a_proxy_no_header_makes_it_https(alone: str, alice: Caller, headers: dict[str, str]) -> None:
    """gunicorn by itself believes whoever calls from this machine, and answers HTML to headers that disagree."""
    assert whoami(alone, alice, headers) == (403, "https_required")


def test_a_proxy_says_that_it_was_https(behind: str, alice: Caller) -> None:
    assert whoami(behind, alice, SECURE) == (200, None)
    assert whoami(behind, alice, {**SECURE, "X-Forwarded-Ssl": "off"}) == (200, None)
    assert whoami(behind, alice, {"X-Forwarded-Proto": "http"})[1] == "https_required"
    assert whoami(behind, alice, {"X-Forwarded-Ssl": "on"})[1] == "https_required"


def test_no_header_names_the_path_below_which_it_is_mounted(behind: str, alice: Caller) -> None:
    assert whoami(behind, alice, {**SECURE, "SCRIPT_NAME": "/v1"})[0] == 200
