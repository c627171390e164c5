"""`evalsvc import patronus`: what cannot come along is named, and what is wrong with a call is said before anything."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.old_service import KEY
from tests.cli.tools import OldService, environment, old_service, result_of, run_command
from tests.conftest import Caller
from tests.factories import make_profile, new_caller, ok

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def old() -> Iterator[OldService]:
    with old_service("--rows", "60", "--labels", "12", "--criteria", "4") as service:
        yield service


def imported(old: OldService, env: dict[str, str], *options: str, key: str = KEY) -> Any:
    arguments = ("--from", old.url, "--from-key", key, "--since", "2024-01-01", *options)
    return run_command("import", "patronus", *arguments, env=env)


def n_here(caller: Caller) -> int:
    return len(ok(caller.post("/v1/evaluations/search", {"filters": [], "limit": 1000}))["evaluations"])


def test_a_dry_run_counts_and_changes_nothing(old: OldService, shell: dict[str, str], alice: Caller) -> None:
    done = imported(old, shell, "--dry-run", "--json")

    assert done.returncode == 0, done.stderr
    assert result_of(done)["found"] == {
        "projects": 2, "experiments": 6, "criteria": 4, "criteria revisions": 10, "annotation criteria": 4,
        "datasets": 3, "evaluations": 60, "labels": 12,
    }  # fmt: skip
    assert n_here(alice) == 0
    assert ok(alice.get("/v1/projects"))["projects"] == []


def test_a_person_reads_counts_and_the_end(old: OldService, shell: dict[str, str], alice: Caller) -> None:
    done = imported(old, shell)

    assert done.returncode == 0, done.stderr
    assert "evaluations: 60 found, 60 new, 0 there already" in done.stdout
    assert "Both sides count the same." in done.stdout
    assert "evaluations and labels: 72" in done.stderr
    assert n_here(alice) == 72


def test_criteria_with_other_settings_are_left_alone(old: OldService, shell: dict[str, str], alice: Caller) -> None:
    mine = make_profile(alice, "judge", name="house-style-3", pass_criteria="It is mine.")

    done = imported(old, shell, "--json")

    assert done.returncode == 1
    left_out = result_of(done)["left_out"]
    assert [(one["kind"], one["id"]) for one in left_out] == [("criteria", "house-style-3")]
    assert "rename one of both" in left_out[0]["reason"]
    rows = ok(alice.get("/v1/evaluator-criteria?name=house-style-3"))["evaluator_criteria"]
    assert [row["public_id"] for row in rows] == [mine["public_id"]]


def test_what_was_deleted_here_is_a_difference(old: OldService, shell: dict[str, str], alice: Caller) -> None:
    assert imported(old, shell).returncode == 0
    assert ok(alice.call("DELETE", "/v1/evaluations?app=bot"))["done"]

    done = imported(old, shell)

    assert done.returncode == 1
    assert "differs: is_short" in done.stdout
    assert imported(old, shell, "--again").returncode == 0


def test_the_wrong_keys_are_refused_before_anything(
    old: OldService, shell: dict[str, str], web: str, alice: Caller, bob: Caller, tmp_path: Path
) -> None:
    theirs = imported(old, shell, key="wrong")
    reading = imported(old, environment(web, bob, tmp_path))
    none = imported(old, {name: value for name, value in shell.items() if name != "EVALSVC_API_KEY"})

    assert (theirs.returncode, reading.returncode, none.returncode) == (2, 2, 2)
    assert "no such key" in theirs.stderr
    assert "only read" in reading.stderr or "read_only" in reading.stderr or "scope" in reading.stderr
    assert "pass --api-key, set EVALSVC_API_KEY, or run" in none.stderr
    assert n_here(alice) == 0


def test_a_service_that_is_away_is_said_with_what_to_do(old: OldService, shell: dict[str, str]) -> None:
    away = OldService(9)

    done = imported(away, shell, "--patience", "0")

    assert done.returncode == 1
    assert "cannot be reached" in done.stderr
    assert "What to do" in done.stderr


class Page(BaseHTTPRequestHandler):
    """A page for people, at every address."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def test_an_address_of_something_else_is_said(shell: dict[str, str]) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = imported(OldService(server.server_address[1]), shell)
        server.shutdown()

    assert done.returncode == 1
    assert "no JSON" in done.stderr and "--from" in done.stderr
    assert "Traceback" not in done.stderr


def test_another_installation_of_this_service_is_read_too(shell: dict[str, str], web: str, alice: Caller) -> None:
    other = new_caller(name="other")
    for n in range(5):
        body = {"evaluators": [{"evaluator": "exact-match"}], "output": "a", "gold_answer": "ab"[n % 2], "app": "moved"}
        ok(other.post("/v1/evaluate", {**body, "log_id": f"l{n}"}))

    done = run_command("import", "patronus", "--from", web, "--from-key", other.key, env=shell)

    assert done.returncode == 0, done.stderr + done.stdout
    found = ok(alice.get("/v1/history?evaluator=external:exact-match-2026-11-28&profile=patronus:exact-match"))
    assert [point["score"] for point in found["points"]] == [1.0, 0.0, 1.0, 0.0, 1.0]
