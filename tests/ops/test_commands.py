"""Management commands and checks."""

from __future__ import annotations

import json
import os
import stat
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.checks import Tags, run_checks
from django.core.management import call_command
from django.test import Client, override_settings

from evalsvc.accounts.models import Account
from evalsvc.ops.checks import application_role_is_bound, connections_can_be_called
from evalsvc.tenancy.scope import role_scope
from tests.caller import Caller


def seeded() -> dict[str, str]:
    out = StringIO()
    call_command("seed_demo", "--json", stdout=out)
    return json.loads(out.getvalue())


def test_it_seeds_the_same_demo_each_time() -> None:
    first, second = seeded(), seeded()

    assert first == second
    path = Path(os.environ["EVALSVC_HOME"]) / "demo.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for name in ("EVALSVC_API_KEY", "EVALSVC_API_KEY_B"):
        answer = Client().get("/v1/whoami", HTTP_X_API_KEY=first[name])
        assert answer.status_code == 200
    assert Account.objects.using("system").filter(name__in=["Demo", "Demo B"]).count() == 2


def test_the_operator_can_sign_in() -> None:
    demo = seeded()

    assert Client().login(username=demo["EVALSVC_ADMIN_USER"], password=demo["EVALSVC_ADMIN_PASSWORD"])


def test_row_level_security_binds_the_application() -> None:
    assert run_checks(tags=[Tags.database], databases=["default"]) == []


@pytest.mark.parametrize("alias", ["owner"])
def test_an_unbound_role_is_refused(alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.ops.checks.APP", alias)

    (error,) = application_role_is_bound(None, databases=["default"])

    assert error.id == "evalsvc.E001"
    assert "docs/operations.md" in (error.hint or "")


def test_a_database_that_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import connections

    connection = connections.create_connection("owner")
    connection.settings_dict = {**connection.settings_dict, "HOST": "/nowhere"}
    monkeypatch.setattr("evalsvc.ops.checks.connections", {"default": connection})

    (error,) = application_role_is_bound(None, databases=["default"])

    assert error.id == "evalsvc.E002"


def test_the_system_role_is_used_only_where_it_is_asked_for() -> None:
    with role_scope("system"):
        inside = Account.objects.all().db
    assert (inside, Account.objects.all().db) == ("system", "default")


@override_settings(REQUIRE_HTTPS=True)
def test_plain_http_is_refused_where_https_is_required() -> None:
    answer = Client().get("/v1/whoami")

    assert (answer.status_code, answer.json()["code"]) == (403, "https_required")
    assert Client().get("/v1/whoami", secure=True).status_code == 401
    assert Client().get("/healthz").status_code == 200


def test_deployment_defaults_are_safe() -> None:
    assert settings.DEBUG is False
    assert settings.X_FRAME_OPTIONS == "DENY"
    assert settings.SESSION_COOKIE_HTTPONLY is True


def test_connections_that_are_not_called_are_listed_for_the_operator(alice: Caller) -> None:
    with override_settings(OUTBOUND_ALLOW=[], OUTBOUND_PORTS=[range(443, 444), range(2222, 2223)]):
        for name, url in (("good", "https://llm.example.com/v1"), ("odd", "https://llm.example.com:2222/v1")):
            assert alice.post("/v1/connections", {"name": name, "base_url": url, "model": "m"}).status_code == 201
    with override_settings(OUTBOUND_ALLOW=[], OUTBOUND_PORTS=[range(443, 444)]):
        told = [str(warning) for warning in connections_can_be_called(None, databases=["system"])]
        assert connections_can_be_called(None, databases=["default"]) == []

    (ours,) = [line for line in told if str(alice.account.pk) in line]
    assert "https://llm.example.com:2222/v1" in ours
    assert "EVALSVC_OUTBOUND_PORTS" in ours
