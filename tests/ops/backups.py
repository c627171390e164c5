"""What tests of backups share: a service under load, its backup, and an empty server to restore it into."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psycopg

from evalsvc.local.embedded.throwaway import Services, throwaway
from tests.growth.databases import Database

N_HISTORIES = 20
SECRETS = ("SECRET_KEY", "KEY_PEPPER", "ENCRYPTION_KEYS")


def call(url: str, key: str, path: str, body: Any = None) -> tuple[int, bytes]:
    """Call the service; return status and body."""
    headers = {"X-API-KEY": key, "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url + path, data, headers), timeout=60) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, error.read()


def evaluate(url: str, key: str, n: int) -> int:
    """Have two texts judged; return the status."""
    body = {
        "evaluators": [{"evaluator": "exact-match"}, {"evaluator": "exact-match-normalised"}],
        "evaluated_model_output": f"answer {n}",
        "evaluated_model_gold_answer": f"answer {n % 3}",
        "tags": {"n": str(n)},
    }
    return call(url, key, "/v1/evaluate", body)[0]


def keep_histories(url: str, key: str) -> None:
    """Keep scores of twenty evaluators, of different lengths."""
    rows = [
        {"evaluator_id": f"judge-{which}", "criteria": "all", "score_raw": (7 * n % 11) / 11, "pass": n % 2 == 0}
        for which in range(N_HISTORIES)
        for n in range(20 + which)
    ]
    for start in range(0, len(rows), 100):
        status, said = call(url, key, "/v1/evaluation-results/batch", {"evaluation_results": rows[start : start + 100]})
        assert status in (200, 201), said


def histories(url: str, key: str) -> list[bytes]:
    """Return twenty histories as the API answers them."""
    found = []
    for which in range(N_HISTORIES):
        status, said = call(url, key, f"/v1/history?evaluator=external:judge-{which}&profile=all&limit=1000")
        assert status == 200, said
        assert json.loads(said)["n"] == 20 + which
        found.append(said)
    return found


@dataclass
class Load:
    """Evaluations that are made until the block ends."""

    n_made: int = 0
    failed: list[int] = field(default_factory=list)


@contextmanager
def load(url: str, key: str) -> Iterator[Load]:
    """Make evaluations meanwhile."""
    counted, over = Load(), threading.Event()

    def go_on() -> None:
        while not over.is_set():
            status = evaluate(url, key, counted.n_made)
            counted.n_made += 1
            if status != 200:
                counted.failed.append(status)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        while counted.n_made < 5:
            time.sleep(0.05)
        yield counted
    finally:
        over.set()
        thread.join()


@contextmanager
def empty_server() -> Iterator[tuple[Services, Database]]:
    """A new PostgreSQL with nothing but the roles and an empty database."""
    with throwaway() as services:
        yield services, Database("evalsvc", services.env)


@contextmanager
def bare_server() -> Iterator[Database]:
    """A server with nothing of ours on it, and what makes it one of ours."""
    with empty_server() as (made, database):
        with psycopg.connect(made.postgres.url, autocommit=True) as administrator:
            administrator.execute("DROP DATABASE evalsvc")
            administrator.execute("DROP ROLE evalsvc_owner, evalsvc_app, evalsvc_system, evalsvc_signin")
        secrets = {name: os.environ[name] for name in SECRETS}
        yield Database("evalsvc", database.urls | secrets | {"DATABASE_ADMIN_URL": made.postgres.url})


def manifest_of(directory: Path) -> Any:
    return json.loads((directory / "manifest.json").read_bytes())
