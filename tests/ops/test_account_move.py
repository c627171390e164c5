"""An account moves: from a running server by the command line into an empty database, and is served from there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import services
from tests.conftest import CHECKOUT
from tests.growth.databases import Database, migrated_database
from tests.ops.backups import call
from tests.ops.moving import (
    N_HISTORIES,
    TEXT,
    Rich,
    import_into,
    key_in,
    lines_of,
    new_rich_account,
    rows_of,
    valkey_apart,
)
from tests.serving import serving
from tests.tenancy.shapes import TABLES

pytestmark = pytest.mark.slow

COUNTED = {"evaluations_dailyrollup", "evaluations_rollupdelta"}
DERIVED = {"evaluations_evaluationtag", *COUNTED}
STAYS = {
    "accounts_apikey", "accounts_invitation", "judges_webhooksecret", "events_outboxevent", "events_eventdelivery", "rest_idempotencyrecord",
    "reviews_reviewlink",
}  # fmt: skip
SEARCHES = [
    ("/v1/evaluations/search", {"filters": [{"field": "tags.env", "operation": "eq", "value": "prod"}], "limit": 100}),
    ("/v1/evaluation-results/search", {"limit": 100, "app": "shop"}),
    ("/v1/otel/spans/search", {}),
    ("/v1/otel/logs/search", {}),
]
READS = (
    *("/v1/datasets", "/v1/experiments", "/v1/projects", "/v1/apps", "/v1/annotation-criteria", "/v1/evaluators"),
    *("/v1/evaluator-criteria", "/v1/prompt-definitions", "/v1/prompt-revisions", "/v1/evaluation-results/tags"),
)


@dataclass
class Moved:
    """The account in both places."""

    rich: Rich
    old_url: str
    file: Path
    said: str
    database: Database
    url: str
    counts: dict[str, tuple[int, int]]
    """Rows by table, here and there, before anything else happened there."""

    @property
    def key(self) -> str:
        return key_in(self.said)

    def both(self, path: str, body: object = None) -> tuple[bytes, bytes]:
        """What the two places answer, without the ids of the requests."""
        status, here = call(self.old_url, self.rich.caller.key, path, body)
        moved_status, there = call(self.url, self.key, path, body)
        assert (status, moved_status) == (200, 200), (path, here, there)
        return here, there


def counts_of(account_id: int, database: Database) -> dict[str, tuple[int, int]]:
    urls = os.environ["DATABASE_MIGRATION_URL"], database.urls["DATABASE_MIGRATION_URL"]
    with psycopg.connect(urls[0]) as here, psycopg.connect(urls[1]) as there:
        tables = [(name, column) for name, column, _ in here.execute(TABLES).fetchall()]
        return {
            name: (_count(here, name, column, account_id), _count(there, name, column, account_id))
            for name, column in tables
        }


def _count(connection: psycopg.Connection[Any], table: str, column: str, account_id: int) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table} WHERE {column} = %s".encode(), [account_id]).fetchone()
    return int(row[0]) if row else 0


def command_line(url: str, key: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evalsvc.cli", *arguments], cwd=CHECKOUT, capture_output=True, text=True, timeout=300,
        env=os.environ | {"EVALSVC_URL": url, "EVALSVC_API_KEY": key}, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moved]:
    home = tmp_path_factory.mktemp("moved")
    file = home / "account.ndjson"
    rich = new_rich_account()
    with serving(home / "old.log") as old_url, migrated_database(services.servers.postgres.url) as database:
        done = command_line(old_url, rich.caller.key, "export", "account", "-o", str(file), "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["counts"] == lines_of(file.read_bytes())[0]["tables"]
        database.urls["REDIS_URL"] = valkey_apart()
        status, said = import_into(database, file)
        assert status == 0, said
        counts = counts_of(rich.caller.account.pk, database)
        with serving(home / "new.log", **database.urls) as url:
            yield Moved(rich, old_url, file, said, database, url, counts)


def test_every_table_has_as_many_rows(moved: Moved) -> None:
    manifest = lines_of(moved.file.read_bytes())[0]["tables"]
    assert {*moved.counts} - STAYS == {*manifest} | DERIVED
    # Counts by day are noted there, and folded at another time.
    assert sum(moved.counts[name][1] for name in COUNTED) > 0
    for name, (here, there) in moved.counts.items():
        if name in COUNTED:
            continue
        # Of the new place are its first key, and the entries that it was imported, switched on and given that key.
        made = {"accounts_apikey": 1, "accounts_auditentry": 3}.get(name, 0)
        expected = made if name in STAYS else made + manifest.get(name, here)
        assert (name, there) == (name, expected)
        assert (name, manifest.get(name, here)) == (name, here)
        assert here > 0, name


def test_twenty_intervals_are_equal_to_the_byte(moved: Moved) -> None:
    lower = set()
    for which in range(N_HISTORIES):
        here, there = moved.both(
            f"/v1/history?evaluator=external:judge-{which}&profile=all&strategy=full-history&limit=1000"
        )
        assert here == there
        answer = json.loads(there)
        assert answer["n"] == 20 + which
        lower.add(answer["confidence_interval"]["lower"])
    assert len(lower) > 10


def test_histories_of_managed_evaluators_are_equal(moved: Moved) -> None:
    for asked in ("evaluator=exact-match", "evaluator=pii", "evaluator=metrics&profile=bleu"):
        here, there = moved.both(f"/v1/history?{asked}&limit=1000")
        assert here == there
        assert json.loads(there)["n"] >= 8


def test_texts_and_tags_are_equal(moved: Moved) -> None:
    for path, body in SEARCHES:
        here, there = moved.both(path, body)
        assert json.loads(here) == json.loads(there), path
    tagged = json.loads(moved.both(*SEARCHES[0])[1])["evaluations"]
    assert len(tagged) == 8 * 3 + 1
    results = json.loads(moved.both(*SEARCHES[1])[1])["results"]
    assert len([row for row in results if row["evaluated_model_input"] == TEXT]) == 8 * 3


def own(answer: Any) -> list[str]:
    """The account's own rows of a list: managed ones were made by each server, at its own time."""
    (rows,) = (value for value in answer.values() if isinstance(value, list))
    return sorted(json.dumps(row, sort_keys=True) for row in rows if not is_managed(row))


def is_managed(row: Any) -> bool:
    is_evaluator = "evaluator_family" in row and "revision" not in row
    return str(row.get("name")).startswith("patronus:") or (is_evaluator and not str(row["id"]).startswith("own-"))


@pytest.mark.parametrize("path", READS)
def test_lists_are_equal(moved: Moved, path: str) -> None:
    here, there = moved.both(path)
    assert own(json.loads(here)) == own(json.loads(there))
    assert len(own(json.loads(there))) > 0


def test_an_experiment_is_equal(moved: Moved) -> None:
    experiments = json.loads(moved.both("/v1/experiments")[1])["experiments"]
    planned = next(one["id"] for one in experiments if one.get("plan"))
    here, there = moved.both(f"/v1/experiments/{planned}/results?limit=1000")
    assert json.loads(here) == json.loads(there)
    assert len(json.loads(there)["results"]) >= 20


def test_verify_finds_nothing(moved: Moved) -> None:
    assert "WRONG" not in moved.database.run("verify")


def test_no_secret_is_in_the_file_or_in_what_is_said(moved: Moved) -> None:
    file, said = moved.file.read_text(), moved.said
    assert [secret for secret in moved.rich.secrets if secret in file or secret in said] == []
    assert moved.rich.caller.key.partition(".")[2] not in file
    assert not any("secret" in column for row in rows_of(file.encode(), "judges_connection") for column in row)


def test_the_old_key_opens_nothing_there(moved: Moved) -> None:
    assert call(moved.url, moved.rich.caller.key, "/v1/whoami")[0] == 401
    assert call(moved.url, moved.key, "/v1/whoami")[0] == 200


def test_what_needs_a_secret_is_off_and_said(moved: Moved) -> None:
    connections = json.loads(call(moved.url, moved.key, "/v1/connections")[1])["connections"]
    endpoints = json.loads(call(moved.url, moved.key, "/v1/event-endpoints")[1])["event_endpoints"]
    assert {(one["key_set"], one["is_enabled"]) for one in connections} == {(False, False)}
    assert {one["is_enabled"] for one in endpoints} == {False}
    assert all(one["name"] in moved.said for one in connections)
    assert all(one["id"] in moved.said for one in endpoints)


def test_it_goes_on_there(moved: Moved) -> None:
    body = {"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x", "capture": "none"}
    status, said = call(moved.url, moved.key, "/v1/evaluate", body)
    assert (status, json.loads(said)["results"][0]["evaluation_result"]["pass"]) == (200, True)


def test_a_second_time_is_refused(moved: Moved) -> None:
    status, said = import_into(moved.database, moved.file)
    assert (status, "is on this server already" in said, "Nothing was written" in said) == (1, True, True)
