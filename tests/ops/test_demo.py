"""What a newcomer sees first: the verdict, the file for the shell, the banner."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evalsvc.local.embedded.home import read_env_file
from evalsvc.local.supervisor.demo import evaluation
from evalsvc.local.supervisor.demo.evaluation import DemoVerdict, banner, first_evaluation, write_demo_env
from evalsvc.local.supervisor.supervisor import ServiceFailed

ACCOUNT = {
    "EVALSVC_ADMIN_USER": "demo",
    "EVALSVC_ADMIN_PASSWORD": "p a$(touch hacked)`touch hacked`'\"\\;&|x",
    "EVALSVC_API_KEY": "sk-demo-1",
}
WIDE = {"lower": 0.5, "upper": 0.9, "alpha": 0.95, "n": 8}
PENDING = b'{"id": "77", "results": [{"status": "pending", "evaluation_result": null}]}'
FLAT = {"lower": 1.0, "upper": 1.0, "alpha": 0.95, "n": 8, "advice": {"lower": 0.676, "upper": 1.0}}


@pytest.mark.parametrize("interval", [None, {}, {"lower": None, "upper": None, "alpha": 0.95, "n": 0}])
def test_a_verdict_without_a_history_claims_no_interval(interval: Any) -> None:
    text = str(DemoVerdict(True, 1.0, interval))

    assert text == "pass, score 1; no interval yet (captured scores: 0, needed: 2)"


def test_a_verdict_says_what_its_interval_is_of() -> None:
    text = str(DemoVerdict(False, 0.25, WIDE))

    assert text == "fail, score 0.25; 95 % interval of the mean of the 8 scores before it: [0.50, 0.90]"
    assert "95 % interval of the pass rate of the 8 scores" in str(DemoVerdict(True, 1.0, WIDE | {"of": "pass"}))


def test_a_degenerate_interval_is_never_shown_as_certainty() -> None:
    text = str(DemoVerdict(True, 1.0, FLAT))

    assert text.endswith(": [0.68, 1.00]")


@pytest.mark.parametrize("advice", [None, {}])
def test_empty_advice_leaves_the_interval_itself(advice: Any) -> None:
    assert str(DemoVerdict(True, 1.0, WIDE | {"advice": advice})).endswith(": [0.50, 0.90]")


def test_an_interval_at_zero_is_an_interval() -> None:
    """A lower end of 0 is a number and not the absence of one."""
    assert str(DemoVerdict(False, 0.0, WIDE | {"lower": 0.0, "alpha": 0.9})).endswith(
        "90 % interval of the mean of the 8 scores before it: [0.00, 0.90]"
    )


@dataclass
class Double:
    """A real HTTP server that answers as the service would, and records what it was sent."""

    url: str = ""
    reply: tuple[int, bytes] | None = None
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    n_pending: int = 0
    waiting: bytes = b""

    def answer(self, body: dict[str, Any]) -> tuple[int, bytes]:
        score = float(body["evaluated_model_output"] == body["evaluated_model_gold_answer"])
        interval = {"lower": None, "upper": None, "alpha": 0.95, "n": 0}
        result = {"pass": score == 1, "score_raw": score, "additional_info": {"confidence_interval": interval}}
        return 200, json.dumps({"results": [{"evaluation_result": result}]}).encode()


@pytest.fixture
def double() -> Iterator[Double]:
    state = Double()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.bodies.append(body)
            state.keys.append(self.headers["X-API-KEY"])
            state.paths.append(self.path)
            status, text = state.reply or state.answer(body)
            if state.n_pending:
                state.waiting, text = text, PENDING
            self.reply(status, text)

        def do_GET(self) -> None:
            state.paths.append(self.path)
            state.n_pending -= 1
            self.reply(200, PENDING if state.n_pending else state.waiting)

        def reply(self, status: int, text: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield state
        server.shutdown()
        thread.join()


def test_it_captures_nothing_in_the_account_whose_key_is_printed(double: Double) -> None:
    verdict = first_evaluation(double.url, "sk-demo-1")

    assert (verdict.passed, verdict.score) == (True, 1.0)
    assert [body["capture"] for body in double.bodies] == ["none"]


def test_a_pending_answer_is_waited_for(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "PAUSE_SECONDS", 0.0)
    double.n_pending = 3

    verdict = first_evaluation(double.url, "k")

    assert (verdict.passed, verdict.is_pending) == (True, False)
    assert double.paths == ["/v1/evaluate", *["/v1/evaluate/77"] * 3]


def test_what_stays_pending_is_told_and_is_no_failure(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "PATIENCE_SECONDS", -1.0)
    double.n_pending = 10**9

    verdict = first_evaluation(double.url, "k")

    assert verdict.is_pending
    assert "pending" in str(verdict)
    assert len(double.bodies) == 1


def test_it_asks_as_any_client_would(double: Double) -> None:
    first_evaluation(double.url, "sk-demo-1")

    assert set(double.keys) == {"sk-demo-1"}
    assert set(double.paths) == {"/v1/evaluate"}
    for body in double.bodies:
        assert body["evaluators"] == [{"evaluator": "exact-match"}]
        assert (body["app"], body["confidence_interval_strategy"]) == ("demo", "full-history")


@pytest.mark.parametrize(
    "text",
    [
        b"<html>bad gateway</html>",
        b"[]",
        b"{}",
        b'{"results": []}',
        b'{"results": [{"evaluation_result": null}]}',
        b'{"results": [{"evaluation_result": {"pass": true}}]}',
        b'{"results": [{"evaluation_result": {"pass": true, "score_raw": null}}]}',
        b"\xff\xfe",
    ],
)
def test_an_answer_that_is_none_is_shown_with_its_status(double: Double, text: bytes) -> None:
    double.reply = (502, text)

    with pytest.raises(ServiceFailed, match=r"The first evaluation failed: HTTP 502, "):
        first_evaluation(double.url, "k")
    assert len(double.bodies) == 1


def test_a_long_failure_is_cut(double: Double) -> None:
    double.reply = (500, b"x" * 100_000)

    with pytest.raises(ServiceFailed) as caught:
        first_evaluation(double.url, "k")
    assert len(str(caught.value)) < 1200


def test_a_service_that_is_away_is_named_and_the_key_is_not() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound and not listening: the connection is refused
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(ServiceFailed, match="got no answer from") as caught:
            first_evaluation(url, "sk-secret")
    assert url in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def sourced(path: Path, *names: str) -> list[str]:
    """Source the file in a real shell, as the banner says, and return what it sets."""
    sh = shutil.which("sh")
    assert sh
    script = ". .evalsvc/demo.env; printf '%s\\0' " + " ".join(f'"${name}"' for name in names)
    done = subprocess.run([sh, "-euc", script], cwd=path, env={}, capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


def test_the_file_for_the_shell_says_the_same_in_a_shell(tmp_path: Path) -> None:
    write_demo_env(tmp_path / ".evalsvc", "http://127.0.0.1:8000", ACCOUNT)

    assert sourced(tmp_path, "EVALSVC_URL", "EVALSVC_ADMIN_URL", *ACCOUNT) == [
        "http://127.0.0.1:8000",
        "http://127.0.0.1:8000/admin/",
        *ACCOUNT.values(),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".evalsvc"]


def test_programs_of_that_shell_have_the_address_and_the_key(tmp_path: Path) -> None:
    path = write_demo_env(tmp_path / ".evalsvc", "http://127.0.0.1:8000", ACCOUNT)
    script = ". .evalsvc/demo.env; env"
    done = subprocess.run(
        ["/bin/sh", "-euc", script], cwd=tmp_path, env={"PATH": os.defpath}, capture_output=True, check=True
    )

    assert b"EVALSVC_URL=http://127.0.0.1:8000\n" in done.stdout
    assert f"EVALSVC_API_KEY={ACCOUNT['EVALSVC_API_KEY']}\n".encode() in done.stdout
    assert read_env_file(path)["EVALSVC_URL"] == "http://127.0.0.1:8000"
    assert "export" not in read_env_file(path)


@pytest.mark.parametrize("value", ["", " ", "#x", "~", "*", "a=b", "it's", "ü€", "two\nlines", "$HOME", "!1", "-n"])
def test_any_value_survives_the_shell(tmp_path: Path, value: str) -> None:
    write_demo_env(tmp_path / ".evalsvc", "http://[::1]:8000", ACCOUNT | {"EVALSVC_API_KEY": value})

    assert sourced(tmp_path, "EVALSVC_URL", "EVALSVC_API_KEY") == ["http://[::1]:8000", value]


def test_only_its_owner_reads_the_file_for_the_shell(tmp_path: Path) -> None:
    path = write_demo_env(tmp_path / ".evalsvc", "http://a", ACCOUNT)
    assert path == tmp_path / ".evalsvc" / "demo.env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0

    path.chmod(0o644)
    write_demo_env(tmp_path / ".evalsvc", "http://b", ACCOUNT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sourced(tmp_path, "EVALSVC_URL") == ["http://b"]
    assert [entry.name for entry in path.parent.iterdir()] == ["demo.env"]


def test_the_banner_holds_all_one_needs_to_go_on() -> None:
    verdict = DemoVerdict(True, 1.0, WIDE)
    text = banner("http://127.0.0.1:8001", ACCOUNT, verdict, filled="Demo history")
    rows = [line.split(":", 1) for line in text.splitlines() if line]
    said = {name.strip(): value.strip() for name, value in rows}

    assert said["address"] == "http://127.0.0.1:8001"
    assert said["documentation"] == "http://127.0.0.1:8001/docs/"
    assert said["admin"] == "http://127.0.0.1:8001/admin/"
    assert said["sign in as"] == ACCOUNT["EVALSVC_ADMIN_USER"]
    assert said["password"] == ACCOUNT["EVALSVC_ADMIN_PASSWORD"]
    assert said["to look at"] == 'the account "Demo history"'
    assert said["API key"] == ACCOUNT["EVALSVC_API_KEY"]
    assert said["of the account"] == '"Demo"'
    assert said["first evaluation"] == str(verdict)
    assert said["in a shell"].startswith(". .evalsvc/demo.env")
    assert said["stop"] == "Ctrl-C"


def test_the_values_of_the_banner_stand_in_one_column() -> None:
    lines = [line for line in banner("http://a", ACCOUNT, DemoVerdict(True, 1.0, None)).splitlines() if line]

    assert {line[20] for line in lines} == {" "}
    assert all(line[21] != " " for line in lines)
