"""The Caddyfile of `make up HTTPS=1`: made from the template, accepted by Caddy, and closed to what is no name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from evalsvc.local.supervisor.front.caddy import find_caddy
from evalsvc.local.supervisor.front.caddyfile import CaddyPlan, UnfitName, format_site_address, list_hosts
from evalsvc.local.supervisor.front.trust import write_bundle

ALLOWED = "localhost, 127.0.0.1,[::1],.example.com"


def validated(folder: Path, plan: CaddyPlan) -> subprocess.CompletedProcess[str]:
    program = find_caddy()
    assert program, "the development lock has it"
    file = folder / "Caddyfile"
    file.write_text(plan.text(), encoding="utf-8")
    command = [program, "validate", "--config", str(file), "--adapter", "caddyfile"]
    return subprocess.run(command, env={"HOME": str(folder)}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("otlp", [None, "127.0.0.1:4317"])
def test_caddy_takes_it(tmp_path: Path, otlp: str | None) -> None:
    names = list_hosts(ALLOWED, "127.0.0.1")
    plan = CaddyPlan("127.0.0.1:0", names, tmp_path / "with blanks", "127.0.0.1:8000", otlp)
    done = validated(tmp_path, plan)

    assert done.returncode == 0, done.stderr
    assert "not formatted" not in done.stderr
    assert ("h2c://" in plan.text()) is (otlp is not None)


def test_the_gate_sees_a_fault(tmp_path: Path) -> None:
    assert validated(tmp_path, CaddyPlan("127.0.0.1:0", ("a",), tmp_path, "no port at all {")).returncode != 0


def test_it_has_a_certificate_for_each_allowed_host_and_its_own_address() -> None:
    assert list_hosts(ALLOWED, "10.1.2.3") == ("localhost", "127.0.0.1", "[::1]", ".example.com", "10.1.2.3")
    assert list_hosts(ALLOWED, "::1") == ("localhost", "127.0.0.1", "[::1]", ".example.com")
    assert [format_site_address(name) for name in ("[::1]", ".example.com")] == [
        "https://[::1]",
        "https://*.example.com",
    ]


@pytest.mark.parametrize("name", ["", "a b", "a {", "a\nadmin", "ä", "a,b", "a/b"])
def test_what_is_no_host_is_refused(name: str) -> None:
    with pytest.raises(UnfitName, match="is no host that a certificate can be made for"):
        format_site_address(name)


def test_a_bundle_that_is_made_anew_from_itself_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts again in a shell that has read demo.env has it in SSL_CERT_FILE."""
    system, root, bundle = (tmp_path / name for name in ("system.pem", "root.crt", "bundle.pem"))
    system.write_text("SYSTEM\n")
    root.write_text("OWN\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(system))
    write_bundle(bundle, root)
    first = bundle.read_text()
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    write_bundle(bundle, root)

    assert first == bundle.read_text() == "SYSTEM\nOWN\n"
