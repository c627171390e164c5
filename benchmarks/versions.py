"""Two versions of the service side by side: this checkout, and an older commit under today's benchmarks.

The older commit's files are unpacked into a temporary folder, its `benchmarks/` replaced by ours: the same questions,
asked of other code. Both use this Python environment, and each has servers of its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.machine import cpu_seconds, see_it_end
from benchmarks.stack import TEMPLATE

CHECKOUT = Path(__file__).resolve().parent.parent
NOW, PARENT = "now", "parent"
SECONDS_TO_END = 60
LOG_LINES = 30


class NoSuchVersion(Exception):
    """There is nothing to compare with; the message says why."""


def name_of(ref: str) -> str:
    """Return the short hash and subject of a commit; raise NoSuchVersion when git does not know it."""
    return _git("log", "-1", "--format=%h %s", ref, "--").decode().strip()


def _git(*arguments: str) -> bytes:
    command = ["git", "-C", str(CHECKOUT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError as exc:
        raise NoSuchVersion("git is not installed") from exc
    if done.returncode:
        raise NoSuchVersion(done.stderr.decode(errors="replace").strip().partition("\n")[0])
    return done.stdout


@contextlib.contextmanager
def checkout(ref: str) -> Iterator[Path]:
    """Unpack a commit with today's benchmarks; an archive and no worktree, so that nothing stays behind in the repository."""
    with tempfile.TemporaryDirectory(prefix="evalsvc-bench-", ignore_cleanup_errors=True) as folder:
        with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", ref))) as files:
            files.extractall(folder, filter="data")
        there = Path(folder, "benchmarks")
        shutil.rmtree(there, ignore_errors=True)
        shutil.copytree(CHECKOUT / "benchmarks", there, ignore=shutil.ignore_patterns("__pycache__"))
        # Servers that run as another user read nothing here, but may have to pass through.
        os.chmod(folder, 0o755)
        yield Path(folder)


@dataclass(frozen=True)
class Side:
    """A running version: where it listens, whose key to use, and its processes by what they are."""

    name: str
    ports: dict[str, int]
    key: str
    processes: dict[str, psutil.Process]
    owner_url: str

    def cpu(self) -> dict[str, float]:
        """Return the CPU seconds of each group of processes so far."""
        return {name: cpu_seconds(process) for name, process in self.processes.items()}

    def settle(self) -> None:
        """Vacuum now, rather than in the midst of a slice."""
        import psycopg

        with psycopg.connect(self.owner_url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")


@contextlib.contextmanager
def sides(parts: Sequence[str], against: str = "none") -> Iterator[dict[str, Side]]:
    """Start this checkout, and the commit `against` unless it is 'none', at the same time; end both with the block."""
    with contextlib.ExitStack() as exits:
        folders = {NOW: CHECKOUT}
        if against != "none":
            folders[PARENT] = exits.enter_context(checkout(against))
        started = {name: exits.enter_context(_process(folder, parts)) for name, folder in folders.items()}
        with ThreadPoolExecutor(len(started)) as pool:
            yield dict(zip(started, pool.map(lambda name: _ready(name, *started[name]), started), strict=True))


@contextlib.contextmanager
def _process(folder: Path, parts: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    with tempfile.NamedTemporaryFile(prefix="evalsvc-bench-", suffix=".log") as log:
        # A session of its own: Ctrl-C reaches us, and we end it.
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.side", *parts], cwd=folder, env=_environment(folder), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            yield process, Path(log.name)
        finally:
            _end(process)


def _environment(folder: Path) -> dict[str, str]:
    """Ours, without what a running service has left in it: each version finds its own servers."""
    ours = ("EVALSVC_", "DATABASE_", "REDIS_", "CELERY_", "DJANGO_", "SECRET_KEY", "KEY_PEPPER", "ENCRYPTION_KEYS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith((*ours, "PYTHONPATH"))}
    # An older version has an older schema.
    is_migrated = folder == CHECKOUT and TEMPLATE in os.environ
    return kept | ({TEMPLATE: os.environ[TEMPLATE]} if is_migrated else {})


def _end(process: subprocess.Popen[str]) -> None:
    below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    see_it_end(process, below, seconds=SECONDS_TO_END)
    if process.stdout is not None:
        process.stdout.close()


def _ready(name: str, process: subprocess.Popen[str], log: Path) -> Side:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        process.wait(SECONDS_TO_END)
        end = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
        raise RuntimeError(f"The service of '{name}' did not start:\n{end}")
    found: dict[str, Any] = json.loads(line)
    processes = {what: psutil.Process(pid) for what, pid in found["pids"].items()}
    return Side(name, found["ports"], found["key"], processes, found["owner_url"])
