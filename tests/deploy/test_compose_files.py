"""The compose stack's files keep the rules of `tests/deploy/policy.py`; each planted error is found."""

from __future__ import annotations

import copy
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsvc.local.supervisor.front.caddy import find_caddy
from evalsvc.ops.liveness import alive
from tests.conftest import CHECKOUT
from tests.deploy.policy import faults, faults_of_dockerfile

FOLDER = CHECKOUT / "deploy" / "compose"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
DOCKERFILE = (CHECKOUT / "deploy" / "image" / "Dockerfile").read_text()
SETTINGS = (CHECKOUT / "docs" / "settings.md").read_text()


def test_the_stack_keeps_the_rules() -> None:
    assert faults(COMPOSE) == []
    assert faults_of_dockerfile(DOCKERFILE) == []


def planted(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    compose: dict[str, Any] = copy.deepcopy(COMPOSE)
    change(compose["services"])
    return compose


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda of: of["web"].update(user="0:0"), "web: it runs as root, or as whoever the image says"),
        (lambda of: of["web"].pop("user"), "web: it runs as root, or as whoever the image says"),
        (lambda of: of["valkey"].update(image="docker.io/valkey/valkey:latest"), "valkey: the image docker.io/valkey/valkey:latest names no version"),
        (lambda of: of["valkey"].update(image="docker.io/valkey/valkey:9"), "valkey: the image docker.io/valkey/valkey:9 is not pinned by a digest"),
        (lambda of: of["beat"].update(healtcheck={}), "beat: unknown key healtcheck"),
        (lambda of: of["beat"].update(networks=["inside"]), "beat: the network inside is not declared"),
        (lambda of: of["worker-cpu"]["deploy"]["resources"]["limits"].pop("memory"), "worker-cpu: no limit of memory"),
        (lambda of: of["web"]["environment"].update(SECRET_KEY="x" * 50), "web: SECRET_KEY is in its environment"),
        (lambda of: of["postgres"]["environment"].update(POSTGRES_PASSWORD="x"), "postgres: POSTGRES_PASSWORD is in its environment"),
        (lambda of: of["postgres"].update(read_only=False), "postgres: its root file system can be written to"),
        (lambda of: of["otlp-grpc"].pop("healthcheck"), "otlp-grpc: no health check"),
        (lambda of: of["postgres"].update(ports=["5432:5432"]), "postgres: it has ports of its own"),
        (lambda of: of["beat"].update(networks=["data", "outbound"]), "beat: it has a way out by outbound"),
        (lambda of: of["web"].update(cap_drop=[]), "web: it holds capabilities"),
        (lambda of: of["web"]["secrets"].remove("redis_url"), "web: REDIS_URL_FILE names a secret that it is not given"),
    ],
)  # fmt: skip
def test_a_planted_error_is_found(change: Callable[[dict[str, Any]], object], found: str) -> None:
    assert found in faults(planted(change))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("USER 10001:10001\nEXPOSE 8000", "USER root\nEXPOSE 8000", "it ends as root"),
        ("python:3.13-slim-trixie", "python:latest", "names no version"),
        ("slim-trixie@sha256:", "slim-trixie-", "is not pinned by a digest"),
        ("PYTHONUNBUFFERED=1", "POSTGRES_PASSWORD=secret", "a secret stands in it"),
    ],
)
def test_a_planted_error_in_the_dockerfile_is_found(before: str, after: str, found: str) -> None:
    faults = faults_of_dockerfile(DOCKERFILE.replace(before, after))
    assert faults and all(found in fault for fault in faults)


def test_each_part_that_gives_signs_of_life_is_a_service() -> None:
    workers = {name.removeprefix("worker-") for name in COMPOSE["services"] if name.startswith("worker-")}

    assert workers | {"beat"} == set(alive.PARTS)


def test_settings_are_those_of_the_service() -> None:
    known = set(re.findall(r"`([A-Z][A-Z_]+)`", SETTINGS))
    foreign = {"POSTGRES_PASSWORD", "EVALSVC_SITE", "EVALSVC_TLS", "TMPDIR"}
    for name, service in COMPOSE["services"].items():
        asked = {variable.removesuffix("_FILE") for variable in service.get("environment", {})}
        assert asked - foreign <= known, name


def routes(caddyfile: str) -> list[str]:
    """Return the bounds and matchers of a Caddyfile, which both have to have."""
    wanted = r"^\s*(@uploads path .*|@exports path .*|@grpc path .*|import bounds .*|read_header .*|read_body_idle .*|max_header_size .*)$"
    return re.findall(wanted, caddyfile, re.MULTILINE)


def test_its_caddy_has_the_bounds_of_make_up() -> None:
    front = CHECKOUT / "evalsvc" / "local" / "supervisor" / "front"
    ours = (front / "service.caddy").read_text().replace("${otlp}", (front / "otlp.caddy").read_text())

    assert routes((FOLDER / "Caddyfile").read_text()) == routes(ours)


def test_init_makes_secrets_once(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    first = init(folder, "--domain", "evals.example.com", "--email", "ops@example.com", "--ha")
    before = {path.name: path.read_text() for path in (folder / "secrets").iterdir()}
    again = init(folder)

    assert "0 secrets written" in again
    assert "0 secrets written" not in first
    assert {path.name: path.read_text() for path in (folder / "secrets").iterdir()} == before
    declared = {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()}
    assert declared <= set(before)
    assert len(set(before.values())) >= len(before) - 1  # the metrics key has two readers
    assert "@pgbouncer:6432/evalsvc" in before["database_url"]
    assert "@postgres:5432/evalsvc" in before["database_migration_url"]
    environment = dict(line.split("=", 1) for line in (folder / ".env").read_text().splitlines())
    assert environment["EVALSVC_TLS"] == "ops@example.com"
    assert environment["EVALSVC_CSRF_TRUSTED_ORIGINS"] == "https://evals.example.com"
    assert (environment["EVALSVC_WEB_HOSTS"], environment["COMPOSE_PROFILES"]) == ("2", "ha")
    assert (folder / "secrets").stat().st_mode & 0o777 == 0o700


def variables_of(folder: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in (folder / ".env").read_text().splitlines())


def test_init_switches_sign_in_on_and_off(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    init(folder, "--domain", "evals.example.com", "--internal-ca", "--https-port", "8443")
    assert "COMPOSE_FILE" not in variables_of(folder)
    (folder / "compose.override.yaml").touch()

    init(folder, "--sign-in")
    assert variables_of(folder)["COMPOSE_FILE"] == "compose.yaml:compose.override.yaml:sign-in.yaml"
    assert variables_of(folder)["EVALSVC_PUBLIC_URL"] == "https://evals.example.com:8443"
    (folder / "secrets/smtp_password").write_text("mine\n")
    assert "0 secrets written" in init(folder, "--sign-in")
    assert (folder / "secrets/smtp_password").read_text() == "mine\n"
    assert variables_of(folder)["COMPOSE_FILE"].count("sign-in.yaml") == 1

    init(folder, "--no-sign-in")
    assert variables_of(folder)["COMPOSE_FILE"] == "compose.yaml:compose.override.yaml"


def test_sign_in_adds_what_it_needs_and_no_more() -> None:
    added = yaml.safe_load((FOLDER / "sign-in.yaml").read_text())
    defaults = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| `?([^`|]*?)`? \|", SETTINGS, re.MULTILINE))
    declared = {**COMPOSE, "secrets": COMPOSE["secrets"] | added["secrets"]}
    variables: dict[str, str] = {}
    for name, more in added["services"].items():
        service = COMPOSE["services"][name]
        merged = {**service, "environment": service["environment"] | more["environment"]}
        merged["secrets"] = [*service["secrets"], *more["secrets"]]
        assert faults({**declared, "services": {name: merged}}) == []
        assert "networks" not in more or (name, more["networks"], added["networks"]) == (
            "web",
            ["provider"],
            {"provider": {}},
        )
        variables |= more["environment"]

    assert set(added["services"]) == {"web", "worker-judge"}
    told = {name: re.fullmatch(r"\$\{\w+-(.*)\}", text) for name, text in variables.items() if "FILE" not in name}
    assert {name: found[1] or "(empty)" for name, found in told.items() if found} == {
        name: defaults[name] for name in told if name != "EVALSVC_PUBLIC_URL"
    }
    all_of_it = {name for name in defaults if re.match("EVALSVC_(OIDC|SMTP)_", name)} | {"EVALSVC_PUBLIC_URL"}
    assert {name.removesuffix("_FILE") for name in variables} == all_of_it


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--domain", "evals.example.com"), "needs --email"),
        (("--domain", "https://evals.example.com", "--internal-ca"), "is a name such as"),
        (("--https-port", "many"), "a port is a number"),
        (("--domain",), "needs a value"),
        (("--color",), "there is no option --color"),
    ],
)
def test_init_refuses_what_it_does_not_understand(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    folder = copied(tmp_path)
    done = subprocess.run([folder / "init", *options], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert said in done.stderr
    assert not (folder / "secrets").exists()


def copied(folder: Path) -> Path:
    (folder / "evalsvc").mkdir()
    (folder / "evalsvc" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    target = folder / "deploy" / "compose"
    target.mkdir(parents=True)
    (target / "init").write_bytes((FOLDER / "init").read_bytes())
    (target / "init").chmod(0o755)
    return target


def init(folder: Path, *options: str) -> str:
    return subprocess.run([folder / "init", *options], capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize(("tls", "issuer"), [("internal", "internal"), ("ops@example.com", "acme")])
def test_caddy_takes_its_file_and_asks_whom_it_should(tls: str, issuer: str) -> None:
    caddy = find_caddy()
    assert caddy, "the development lock has it"
    environment = {"EVALSVC_SITE": "https://evals.example.com", "EVALSVC_TLS": tls, "EVALSVC_HTTPS_PORT": "443"}
    command = [caddy, "adapt", "--validate", "--config", str(FOLDER / "Caddyfile"), "--adapter", "caddyfile"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)

    policies = json.loads(done.stdout)["apps"]["tls"]["automation"]["policies"]
    [ours] = [policy for policy in policies if "evals.example.com" in policy.get("subjects", ["evals.example.com"])][:1]
    assert ours["issuers"][0]["module"] == issuer
