"""What tests of moves share: an account with something of everything, its file, and another server to bring it into."""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.annotations.shapes import new_criteria, say
from tests.conftest import Caller
from tests.factories import make_connection, make_own_evaluator, make_profile, ok
from tests.growth.databases import Database
from tests.tenancy.shapes import new_filled_account

N_HISTORIES = 20
YEARS = (2024, 2025, 2026)
CANARY = "sk-canary-of-the-connection-0123456789"
HEADER_CANARY = "canary-of-a-header-0123456789"
TEXT = 'The text that goes along: naïve, 東京, \u0001, a quote " and a backslash \\.'


@dataclass(frozen=True)
class Rich:
    """An account, and what must not be in its file."""

    caller: Caller
    secrets: tuple[str, ...]


def new_rich_account(name: str = "mover") -> Rich:
    """Make an account with rows in every tenant table, evaluations of several families, and twenty old histories."""
    caller = new_filled_account(name)
    _evaluate(caller)
    _keep_histories(caller)
    criteria = new_criteria(caller)
    say(caller, criteria, "trace", uuid.uuid4().hex, explanation=TEXT)
    make_own_evaluator(caller, "exact-match-2026-11-28")
    make_connection(caller, "https://llm.example.com/v1", key=CANARY, headers={"x-team": HEADER_CANARY})
    hook = ok(caller.post("/v1/webhook-secret/rotate"), 201)["webhook_secret"]["secret"]
    body = {"url": "https://hook.example.com/", "event_types": ["evaluation.failed"]}
    endpoint = ok(caller.post("/v1/event-endpoints", body), 201)
    return Rich(caller, (caller.key, *_stored(caller), CANARY, HEADER_CANARY, hook, _secret_of(endpoint)))


def _evaluate(caller: Caller) -> None:
    make_profile(caller, "metrics", "bleu", metric="bleu")
    wanted = [("exact-match", None), ("metrics", "bleu"), ("pii", None)]
    evaluators = [{"evaluator": name} | ({"criteria": criteria} if criteria else {}) for name, criteria in wanted]
    for n in range(8):
        sample = {"input": TEXT, "output": f"answer {n}", "label": f"answer {n % 2}", "task_context": [TEXT, "b"]}
        places = {"tags": {"n": str(n), "env": "prod"}, "app": "shop", "project_name": "moves", "log_id": f"log-{n}"}
        ok(caller.post("/v1/evaluate", {"evaluators": evaluators, **sample, **places}))


def _keep_histories(caller: Caller) -> None:
    rows = [
        {
            "evaluator_id": f"judge-{which}",
            "criteria": "all",
            "log_id": str(uuid.UUID(int=which * 1000 + n)),
            "score": (7 * n % 11) / 11,
            "explanation": TEXT,
            "tags": {"year": str(YEARS[n % 3])},
            "created_at": f"{YEARS[n % 3]}-0{1 + n % 9}-1{n % 7}T12:00:{n:02}.123456Z",
        }
        for which in range(N_HISTORIES)
        for n in range(20 + which)
    ]
    for start in range(0, len(rows), 200):
        answer = ok(caller.post("/v1/evaluations/batch", {"evaluations": rows[start : start + 200]}))
        assert answer["errors"] == []


def _stored(caller: Caller) -> tuple[str, ...]:
    """The hash of the key, and what the database keeps encrypted, as a dump would write them."""
    from evalsvc.accounts.models import ApiKey
    from evalsvc.events.models import EventEndpoint
    from evalsvc.judges.models import Connection, WebhookSecret

    found: list[bytes] = []
    for model, column in ((ApiKey, "secret_hash"), (Connection, "secret"), (WebhookSecret, "secret")):
        rows = model._default_manager.using("system").filter(account_id=caller.account.pk)
        found += [bytes(value) for value in rows.values_list(column, flat=True) if value]
    found += [bytes(row.secret) for row in EventEndpoint.objects.using("system").filter(account_id=caller.account.pk)]
    assert len(found) >= 4
    return tuple(secret.hex() for secret in found)


def _secret_of(answer: Any) -> str:
    secret = next(value["secret"] for value in answer.values() if isinstance(value, dict) and "secret" in value)
    return str(secret)


def export(caller: Caller) -> bytes:
    """Return the file that the API answers with."""
    answer = caller.get("/v1/account/export")
    body: bytes = answer.getvalue()
    assert answer.status_code == 200, body
    return body


def lines_of(file: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.splitlines()]


def rows_of(file: bytes, table: str) -> list[dict[str, Any]]:
    return [line["row"] for line in lines_of(file) if line.get("table") == table]


def resealed(file: bytes, change: Callable[[list[bytes]], None]) -> bytes:
    """Change lines and write an end that fits them, as somebody who knows the format would."""
    *lines, _ = file.splitlines(keepends=True)
    change(lines)
    tables = json.loads(lines[0])["tables"]
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    return b"".join([*lines, json.dumps({"end": {"tables": tables, "sha256": digest}}).encode() + b"\n"]).replace(
        b'{"end": ', b'{"end":'
    )


def import_into(database: Database, path: Path, *arguments: str, **env: str) -> tuple[int, str]:
    """Run the operator's command against a server; return its exit code and what it said."""
    there = Database(database.name, database.urls | env)
    process = there.command("import_account", str(path), *arguments)
    said, _ = process.communicate(timeout=600)
    assert "Traceback" not in said, said
    return process.returncode, said


def key_in(said: str) -> str:
    """Return the first key that the command printed."""
    return next(line.partition("=")[2] for line in said.splitlines() if line.startswith("EVALSVC_API_KEY="))


def valkey_apart() -> str:
    """Return the address of a Valkey database of another server: caches go by the account's id, which is the same."""
    return re.sub(r"(?<=/)0$|(?<=db=)0$", "9", os.environ["REDIS_URL"])


def made_file(n: int, text: str) -> bytes:
    """Return a file of so many rows that no service has made."""
    manifest = {"format": "evalsvc-account", "version": 1, "tables": {"x": n}, "needs": {}, "taken_at": "now"}
    rows = [json.dumps({"table": "x", "row": {"text": text}}, separators=(",", ":")).encode() + b"\n"] * n
    body = b"".join([json.dumps(manifest).encode() + b"\n", *rows])
    end = {"end": {"tables": {"x": n}, "sha256": hashlib.sha256(body).hexdigest()}}
    return body + json.dumps(end, separators=(",", ":")).encode() + b"\n"
