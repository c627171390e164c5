"""After an account is deleted and what held it is written anew, no file of the servers has a word of it."""

from __future__ import annotations

import os
import uuid
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from evalsvc.accounts.models import AccountDeletion
from evalsvc.infra.redis import get_shared_client
from evalsvc.ops.deletion import scrubber
from tests.admin.conftest import new_user
from tests.annotations.shapes import new_criteria
from tests.conftest import Caller, new_caller
from tests.datasets.shapes import upload
from tests.prompts.shapes import revise, set_labels
from tests.telemetry.otlp import log, logs, new_id, span, traces

pytestmark = pytest.mark.slow


@pytest.fixture
def append_only() -> Path:
    """The folder of Valkey's append-only file."""
    redis = get_shared_client()
    return Path(str(redis.config_get("dir")["dir"])) / str(redis.config_get("appenddirname")["appenddirname"])


def put_everywhere(caller: Caller, canary: str) -> None:
    texts = ("input", "system_prompt", "app", "project_name", "log_id", "dataset_id")
    sample = {name: f"{canary}-{name}"[:50] for name in texts} | {"tags": {canary: canary}, "task_context": [canary]}
    for _ in range(30):
        answer = caller.evaluate("exact-match", output=canary, label=canary, capture="all", **sample)
        assert answer.status_code == 200, answer.content
    upload(caller, b'{"input": "%s"}\n' % canary.encode() * 30, dataset_name=canary)
    set_labels(caller, revise(caller, prompt_name=canary, body=canary), canary)
    new_criteria(caller, name=canary)
    caller.post("/v1/traces", traces(span(new_id(), name=canary)))
    caller.post("/v1/logs", logs(log(canary)))
    get_shared_client().set(f"judge:{{{caller.account.pk}}}:answer:x", canary)


def files_with(folder: Path, canary: str) -> set[str]:
    """Which files of a server hold it; the log of PostgreSQL, whose end the command tells, is another matter."""
    found = set()
    for path in folder.rglob("*"):
        if "pg_wal" not in path.parts and path.is_file() and canary.encode() in path.read_bytes():
            found.add(path.name)
    return found


def query(sql: str) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql)


def test_a_canary_is_nowhere(servers: Any, append_only: Path) -> None:
    canary = f"canary{uuid.uuid4().hex}"
    alice, charlie = new_caller(name=canary), new_caller(name="charlie")
    put_everywhere(alice, canary)
    charlie.evaluate("exact-match", output="kept", label="kept", capture="all")
    query("ANALYZE")
    with psycopg.connect(servers.postgres.url, autocommit=True) as admin:
        admin.execute("CHECKPOINT")
        assert len(files_with(servers.postgres.data, canary)) > 10
        assert files_with(append_only, canary)

        out = StringIO()
        call_command("delete_account", alice.account.name, "--yes", "--grace", "0", stdout=out, stderr=out)
        admin.execute("CHECKPOINT")

    assert files_with(servers.postgres.data, canary) == set()
    assert files_with(append_only, canary) == set()
    said = out.getvalue()
    assert "written anew" in said
    assert "PostgreSQL's log: segments up to 0000" in said
    assert "reuses or removes by about 20" in said
    assert "Backups and standbys' own copies made before 20" in said
    line = AccountDeletion.objects.using("system").get(pk=alice.account.pk)
    assert line.scrubbed_at is not None
    assert canary not in str(vars(line))
    assert charlie.post("/v1/evaluations/search", {}).json()["evaluations"] != []


def test_without_it_a_deleted_row_is_still_in_its_file(servers: Any) -> None:
    """Else the test above would show nothing."""
    canary = f"canary{uuid.uuid4().hex}"
    alice = new_caller(name="alice")
    put_everywhere(alice, canary)
    call_command("delete_account", str(alice.account.pk), "--yes", "--grace", "0", "--no-scrub", stdout=StringIO())
    query("VACUUM")
    with psycopg.connect(servers.postgres.url, autocommit=True) as admin:
        admin.execute("CHECKPOINT")

    assert files_with(servers.postgres.data, canary) != set()
    call_command("delete_account", "--scrub", stdout=StringIO())
    with psycopg.connect(servers.postgres.url, autocommit=True) as admin:
        admin.execute("CHECKPOINT")
    assert files_with(servers.postgres.data, canary) == set()
    assert AccountDeletion.objects.using("system").filter(pk=alice.account.pk, scrubbed_at=None).exists() is False


def test_a_table_in_use_is_left_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrubber, "LOCK_SECONDS", 1)
    alice = new_caller(name="alice")
    with psycopg.connect(os.environ["DATABASE_MIGRATION_URL"]) as holder:
        holder.execute("LOCK TABLE prompts_prompt IN ACCESS SHARE MODE")
        with pytest.raises(CommandError, match=r"public\.prompts_prompt"):
            call_command("delete_account", str(alice.account.pk), "--yes", "--grace", "0", stdout=StringIO())
    line = AccountDeletion.objects.using("system").get(pk=alice.account.pk)
    assert line.scrubbed_at is None

    call_command("delete_account", "--scrub", stdout=StringIO())
    line.refresh_from_db(using="system")
    assert line.scrubbed_at is not None


def test_an_index_over_an_expression_is_no_table() -> None:
    """Its statistics are of its own, under its own name."""
    new_user()
    query("ANALYZE accounts_user")
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stats WHERE tablename = 'uq_user_email_lower'")
        assert cursor.fetchone()[0] > 0
    call_command("delete_account", "--scrub", stdout=StringIO())


@pytest.mark.parametrize("arguments", [[], ["somebody", "--scrub"]])
def test_one_of_both_is_said(arguments: list[str]) -> None:
    with pytest.raises(CommandError, match="which account"):
        call_command("delete_account", *arguments)
