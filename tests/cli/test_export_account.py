"""`evalsvc export account`: a file that is whole or not there, whatever the line does."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evalsvc.cli.main import command_line
from tests.conftest import CHECKOUT, Caller
from tests.factories import ok
from tests.ops.moving import export, lines_of, made_file
from tests.serving import serving

pytestmark = pytest.mark.slow


@contextmanager
def service(body: bytes, *, cut_at: int | None = None, status: int = 200) -> Iterator[str]:
    """A service that answers with a body, or with the beginning of one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:cut_at])

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def run(url: str, path: Path, *arguments: str, key: str = "ek_x") -> Result:
    arguments = ("export", "account", "-o", str(path), *arguments, "--url", url, "--api-key", key)
    return CliRunner().invoke(command_line, arguments)


@pytest.fixture
def file(alice: Caller) -> bytes:
    for n in range(3):
        ok(alice.evaluate("exact-match", output=f"answer {n}", label="answer 1", capture="all"))
    return export(alice)


def test_it_writes_the_file_that_the_service_sends(file: bytes, tmp_path: Path) -> None:
    path = tmp_path / "account.ndjson"
    with service(file) as url:
        done = run(url, path)

    assert (done.exit_code, path.read_bytes()) == (0, file)
    assert f"rows: {len(file.splitlines()) - 2} of {len(file.splitlines()) - 2}" in done.stderr
    assert "Keys and other secrets are not in it" in done.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["account.ndjson"]


def test_with_json_it_prints_manifest_and_counts(file: bytes, tmp_path: Path) -> None:
    with service(file) as url:
        done = run(url, tmp_path / "a", "--json", "--quiet")

    told = json.loads(done.stdout)
    assert told["manifest"] == lines_of(file)[0]
    assert told["counts"]["evaluations_evaluation"] == 3
    assert (told["bytes"], done.stderr) == (len(file), "")


def test_it_packs_a_file_whose_name_says_so(file: bytes, tmp_path: Path) -> None:
    path = tmp_path / "account.ndjson.gz"
    with service(file) as url:
        assert run(url, path).exit_code == 0

    assert gzip.decompress(path.read_bytes()) == file
    assert path.stat().st_size < len(file)


def test_a_file_that_is_there_is_kept_unless_forced(file: bytes, tmp_path: Path) -> None:
    path = tmp_path / "account.ndjson"
    path.write_text("mine")
    with service(file) as url:
        done = run(url, path)
        assert (done.exit_code, path.read_text()) == (2, "mine")
        assert "--force" in done.stderr
        assert run(url, path, "--force").exit_code == 0
    assert path.read_bytes() == file


@pytest.mark.parametrize("part", [0.0, 0.3, 0.7, 0.999])
def test_a_cut_line_leaves_no_file(file: bytes, tmp_path: Path, part: float) -> None:
    path = tmp_path / "account.ndjson"
    with service(file, cut_at=int(len(file) * part)) as url:
        done = run(url, path)

    assert done.exit_code == 1
    assert "run the same command again" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_was_changed_on_the_way_leaves_no_file(file: bytes, tmp_path: Path) -> None:
    end = file.rindex(b'{"end":')
    cases = {
        file.replace(b"answer 1", b"answer 7", 1): "not what was sent",
        file[: file.index(b"\n") + 1] + file[end:]: "not what was sent",
        file[:end]: "was cut",
        b"<html>a proxy</html>": "no export of an account",
        b"": "no export of an account",
    }
    for body, why in cases.items():
        with service(body) as url:
            done = run(url, tmp_path / "a")
        assert (done.exit_code, why in done.stderr) == (1, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_who_is_not_let_in_hears_why(tmp_path: Path, alice: Caller, bob: Caller) -> None:
    with serving(tmp_path / "web.log") as url:
        refused = run(url, tmp_path / "a", key=bob.key)
        unknown = run(url, tmp_path / "a", key="ek_nobody")
        assert run(url, tmp_path / "a", key=alice.key).exit_code == 0

    assert (refused.exit_code, "read_only_key" in refused.stderr) == (2, True)
    assert (unknown.exit_code, "unauthenticated" in unknown.stderr) == (2, True)


def test_a_folder_that_is_not_there_is_said(file: bytes, tmp_path: Path) -> None:
    with service(file) as url:
        done = run(url, tmp_path / "nowhere" / "a")

    assert (done.exit_code, "cannot be written: No such file" in done.stderr) == (1, True)


def peak_of(url: str, path: Path) -> int:
    """Return the most memory that the command has held, in bytes."""
    program = "import sys, tracemalloc; from evalsvc.cli.main import command_line\n"
    program += "tracemalloc.start()\n"
    program += "command_line(sys.argv[1:], standalone_mode=False)\n"
    program += "print(tracemalloc.get_traced_memory()[1])"
    arguments = ["export", "account", "-o", str(path), "--url", url, "--api-key", "ek_x", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=CHECKOUT, env=os.environ, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return int(done.stdout.splitlines()[-1])


def test_memory_stays_flat(tmp_path: Path) -> None:
    """A file of 100 MB takes as much memory as one of 1 MB."""
    small, large = (peak_of_rows(tmp_path, n) for n in (250, 25_000))
    assert large < small + 1_000_000, (small, large)
    assert large < 8_000_000


def peak_of_rows(tmp_path: Path, n: int) -> int:
    body = made_file(n, "x" * 4000)
    with service(body) as url:
        return peak_of(url, tmp_path / f"{n}.ndjson")
