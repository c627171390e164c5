"""The policy of every answer outside of the admin, and what the policies allow."""

from __future__ import annotations

import pytest
from django.test import Client

from evalsvc.rest.edge.policy import ADMIN_PAGE, HEADER, NO_PAGE, PAGE
from tests.conftest import Caller


def directives(policy: str) -> dict[str, str]:
    pairs = (part.strip().partition(" ") for part in policy.split(";"))
    return {name: sources for name, _, sources in pairs}


@pytest.mark.parametrize("path", ["/", "/docs/", "/docs/errors"])
def test_our_own_pages_may_load_what_is_ours(path: str) -> None:
    answer = Client().get(path)

    assert answer["Content-Type"].startswith("text/html")
    assert answer[HEADER] == PAGE


@pytest.mark.parametrize(
    "path", ["/healthz", "/metrics", "/v1/openapi.json", "/v1/whoami", "/v1/nope", "/nope", "/static/evalsvc/pages.css"]
)
def test_what_is_no_page_may_nothing(path: str) -> None:
    answer = Client().get(path)
    answer.close()

    assert answer[HEADER] == NO_PAGE


def test_so_may_verdicts_and_refusals(alice: Caller, bob: Caller, charlie: Caller) -> None:
    for caller in (alice, bob, charlie):
        assert caller.evaluate("exact-match", evaluated_model_output="a")[HEADER] == NO_PAGE
    assert Client().get("/docs/", HTTP_HOST="evil.example")[HEADER] == NO_PAGE


def test_html_from_a_package_is_a_page_of_ours() -> None:
    answer = Client().get("/static/drf_spectacular_sidecar/swagger-ui-dist/oauth2-redirect.html")
    answer.close()

    assert answer["Content-Type"].startswith("text/html")
    assert answer[HEADER] == PAGE


def test_below_a_path_the_admin_is_the_admin() -> None:
    assert Client().get("/admin/login/", SCRIPT_NAME="/evaluations")[HEADER] == ADMIN_PAGE


@pytest.mark.parametrize("policy", [PAGE, ADMIN_PAGE])
def test_no_page_runs_what_is_written_into_it(policy: str) -> None:
    allowed = directives(policy)

    assert "'unsafe-inline'" not in allowed.get("script-src", allowed["default-src"])
    assert "'unsafe-inline'" not in allowed.get("style-src", allowed["default-src"])
    assert {name for name, sources in allowed.items() if "http" in sources or "*" in sources} == set()
    assert allowed["object-src"] == allowed["base-uri"] == allowed["frame-ancestors"] == "'none'"
    assert allowed["form-action"] == "'self'"


def test_only_the_admin_evaluates() -> None:
    assert "unsafe" not in PAGE
    assert directives(ADMIN_PAGE)["script-src"] == "'self' 'unsafe-eval'"
