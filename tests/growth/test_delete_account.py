"""An account is deleted whole, whatever it has and wherever the deletion was killed; nobody else's row changes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import psycopg
import pytest
import redis
from django.core.management import CommandError, call_command
from django.db import connections
from django.utils import timezone

from benchmarks.growth_rows import fill, new_accounts
from evalsvc.accounts.models import AccountDeletion
from evalsvc.accounts.services import OPERATOR, begin_deletion, revoke_key
from evalsvc.infra.redis import get_shared_client
from evalsvc.ops.account_tables import HOT, LAST, OF_EXPERIMENTS, TABLES
from evalsvc.ops.deletion import accounts as account_deletion
from evalsvc.ops.deletion.accounts import WAITING, delete_account
from evalsvc.ops.management.commands import delete_account as command
from tests.conftest import findings, new_account, new_caller, wait_until
from tests.growth.databases import Database, migrated_database
from tests.tenancy import shapes
from tests.work.keeping import SUCCESS, keep

pytestmark = pytest.mark.slow

REQUEST = "evaluations_evaluationrequest"
FOREIGN_KEYS = """
SELECT k.conrelid::regclass::text, k.confrelid::regclass::text FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid WHERE k.contype = 'f' AND NOT c.relispartition AND k.conrelid <> k.confrelid
"""


def query(sql: str, values: Any = None) -> list[tuple[Any, ...]]:
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def rows(account_id: int) -> dict[str, tuple[int, str]]:
    """How many rows an account has in each table that PostgreSQL knows to have an account, and their digest."""
    found = {}
    for table, column, _ in query(shapes.TABLES):
        sql = f"SELECT count(*), md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {table} t WHERE {column} = %s"
        found[table] = query(sql, [account_id])[0]
    return found


def keys(account_id: int) -> list[bytes]:
    return [key for mark in ("}", ":") for key in get_shared_client().scan_iter(match=f"*{{{account_id}{mark}*")]


def deleted(*arguments: str) -> str:
    out = StringIO()
    call_command("delete_account", *arguments, "--grace", "0", "--no-scrub", stdout=out, stderr=out)
    return out.getvalue()


def test_no_table_is_forgotten() -> None:
    """A new table with an account shows up here: say how its rows are found, in evalsvc/ops/account_tables.py."""
    known = [*HOT, *(table.name for table in (*OF_EXPERIMENTS, *TABLES, *LAST))]

    assert sorted(known) == sorted(table for table, *_ in query(shapes.TABLES))


def test_nothing_that_is_left_points_to_what_is_gone() -> None:
    order = [table.name for table in (*OF_EXPERIMENTS, *TABLES, *LAST)]
    pairs = [(child, parent) for child, parent in query(FOREIGN_KEYS) if child in order and parent in order]

    # Experiments end one by one in a transaction, by their own service.
    of_one = {"experiments_config", "experiments_experimentplan"}
    wrong = [(child, parent) for child, parent in pairs if order.index(child) > order.index(parent)]
    assert len(pairs) > 20
    assert [pair for pair in wrong if not set(pair) & of_one] == []


def test_each_table_is_found_by_an_index() -> None:
    sql = """SELECT 1 FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = %s::regclass AND a.attname = %s AND i.indpred IS NULL"""
    assert [t.name for t in (*OF_EXPERIMENTS, *TABLES, *LAST) if not query(sql, [t.name, t.column])] == []


def test_it_deletes_everything_and_nobody_elses() -> None:
    alice, charlie = (shapes.new_filled_account(name) for name in ("alice", "charlie"))
    assert alice.evaluate("exact-match", output="x", label="x", capture="all").status_code == 200
    get_shared_client().set(f"judge:{{{alice.account.pk}}}:answer:x", "a text")
    get_shared_client().set(f"judge:{{{alice.account.pk}:00}}:model:ways:1", "{}")
    before = rows(charlie.account.pk)
    assert min(n for n, _ in rows(alice.account.pk).values()) > 0
    assert len(keys(alice.account.pk)) >= 4

    said = deleted(alice.account.name, "--yes")

    assert {table: n for table, (n, _) in rows(alice.account.pk).items() if n} == {}
    assert rows(charlie.account.pk) == before
    assert keys(alice.account.pk) == []
    assert alice.get("/v1/whoami").status_code == 401
    assert charlie.get("/v1/whoami").status_code == 200
    assert "people, who belong to no account" in said
    assert findings(charlie) == {}
    with pytest.raises(CommandError, match="There is no account"):
        deleted(alice.account.name, "--yes")


def test_one_that_was_brought_in_again_is_deleted_again() -> None:
    """Its line of the first time had said that no file of the servers holds what it had."""
    alice = new_caller(name="alice")
    before = timezone.now() - timedelta(days=1)
    AccountDeletion.objects.using("system").create(
        pk=alice.account.pk, ordered_by="admin", began_at=before, ended_at=before, scrubbed_at=before
    )

    deleted(alice.account.name, "--yes")

    line = AccountDeletion.objects.using("system").get(pk=alice.account.pk)
    assert (line.ordered_by, line.scrubbed_at) == ("operator", None)
    assert line.ended_at > line.began_at > before


def test_it_says_what_would_go_and_deletes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    alice = new_caller(name="alice")
    assert alice.evaluate("exact-match", output="x", label="x", capture="all").status_code == 200
    before, out = rows(alice.account.pk), StringIO()

    with pytest.raises(CommandError, match="--yes"):
        call_command("delete_account", str(alice.account.pk), stdout=out)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: "somebody else")
    with pytest.raises(CommandError, match="Nothing was deleted"):
        call_command("delete_account", str(alice.account.pk), stdout=out)

    assert rows(alice.account.pk) == before
    assert "1 captured evaluations" in out.getvalue()
    assert "1 API keys" in out.getvalue()
    monkeypatch.setattr("builtins.input", lambda prompt: alice.account.name)
    call_command("delete_account", str(alice.account.pk), "--grace", "0", "--no-scrub", stdout=out)
    assert {n for n, _ in rows(alice.account.pk).values()} == {0}


def test_a_name_that_is_another_accounts_id_is_refused() -> None:
    first = new_account()
    second = new_account()
    query("UPDATE accounts_account SET name = %s WHERE id = %s RETURNING 1", [str(first.pk), second.pk])

    with pytest.raises(CommandError, match="rename one"):
        deleted(str(first.pk), "--yes")
    deleted(str(second.pk), "--yes")
    with pytest.raises(CommandError, match="is there"):
        deleted(str(first.pk), "--yes", "--remains")
    assert rows(first.pk)["accounts_account"][0] == 1


def test_keys_end_before_any_row_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    alice = new_caller(name="alice")
    assert alice.evaluate("exact-match", output="x", label="x", capture="all").status_code == 200
    answered = []

    def end_work(account: Any) -> None:
        answered.append((alice.get("/v1/whoami").status_code, rows(alice.account.pk)[REQUEST][0]))

    monkeypatch.setattr(account_deletion, "_end_work", end_work)
    delete_account(alice.account, actor="operator", tell=lambda what, n: None, grace_seconds=0)

    assert answered == [(401, 1)]


def test_what_a_call_under_way_writes_late_goes_too() -> None:
    alice = new_caller(name="alice")
    late: list[Any] = []

    def tell(what: str, n: int) -> None:
        if what == WAITING and not late:
            late.append(keep(alice, SUCCESS | {"captured": True, "in_history": True}, {}))

    delete_account(alice.account, actor="operator", tell=tell, grace_seconds=1.5)

    assert len(late) == 1
    assert {table: n for table, (n, _) in rows(alice.account.pk).items() if n} == {}


def test_begun_again_it_waits_no_second_time() -> None:
    alice, told = new_caller(name="alice"), []
    began = begin_deletion(account=alice.account, ordered_by=OPERATOR, actor="operator")

    assert begin_deletion(account=alice.account, ordered_by=OPERATOR, actor="operator") == began
    query("UPDATE accounts_account SET deleted_at = deleted_at - interval '1 hour' WHERE id = %s RETURNING 1",
          [alice.account.pk])  # fmt: skip
    delete_account(alice.account, actor="operator", tell=lambda what, n: told.append(what))
    assert WAITING not in told


def test_a_key_is_gone_and_not_only_revoked() -> None:
    alice = new_caller(name="alice")
    from evalsvc.accounts.models import ApiKey
    from evalsvc.tenancy.scope import account_scope

    with account_scope(alice.account.pk):
        key = ApiKey.objects.get(account=alice.account)
    from django.utils import timezone

    revoke_key(account=alice.account, key=key, now=timezone.now())
    deleted(str(alice.account.pk), "--yes")
    assert rows(alice.account.pk)["accounts_apikey"][0] == 0


def test_a_terminal_is_told_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    out = StringIO()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    progress = command.Progress(command.Command(stderr=out))
    progress.tell("telemetry_span", 5000)
    progress.end()

    assert "spans 5000" in out.getvalue()


# In a database of its own


@pytest.fixture
def months(servers: Any) -> Iterator[tuple[Database, psycopg.Connection[Any], list[int]]]:
    """A database with evaluations of five accounts over months."""
    with migrated_database(servers.postgres.url) as database, database.connect("owner") as owner:
        accounts = new_accounts(owner)
        fill(owner, accounts, 6000, days=240)
        yield database, owner, accounts


def contents(owner: psycopg.Connection[Any], account_id: int) -> list[tuple[Any, ...] | None]:
    sql = "SELECT count(*), md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {} t WHERE account_id = %s"
    return [owner.execute(sql.format(table), [account_id]).fetchone() for table in HOT]


def n_requests(owner: psycopg.Connection[Any], account_id: int) -> int:
    return int(owner.execute(f"SELECT count(*) FROM {REQUEST} WHERE account_id = %s", [account_id]).fetchone()[0])  # type: ignore[index]


def test_killed_half_way_it_goes_on(servers: Any, months: Any) -> None:
    database, owner, accounts = months
    doomed, *others = accounts
    owner.execute(
        "INSERT INTO accounts_apikey (account_id, name, public, secret_hash, scope) VALUES (%s, 'k', 'p', 's', 'write')",
        [doomed],
    )
    before = {id: contents(owner, id) for id in others}
    total = n_requests(owner, doomed)
    waits = "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
    with psycopg.connect(servers.postgres.url, autocommit=True) as admin, database.connect("owner") as holder:
        with holder.transaction():
            row = f"SELECT id FROM {REQUEST} WHERE account_id = %s ORDER BY id OFFSET %s LIMIT 1"
            holder.execute(f"SELECT 1 FROM {REQUEST} WHERE id = ({row}) FOR UPDATE", [doomed, total * 2 // 3])
            process = database.command("delete_account", str(doomed), "--yes", "--grace", "0", "--no-scrub")
            wait_until(lambda: process.poll() is not None or admin.execute(waits, [database.name]).fetchone())
            assert process.poll() is None, process.stdout and process.stdout.read()
            process.kill()
            process.communicate()
        sessions = "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND usename LIKE '%%system'"
        wait_until(lambda: not admin.execute(sessions, [database.name]).fetchone())
    assert 0 < n_requests(owner, doomed) < total
    assert owner.execute("SELECT revoked_at IS NOT NULL FROM accounts_apikey").fetchone() == (True,)
    assert '"n"' not in database.run("verify", "--json")

    said = database.run("delete_account", str(doomed), "--yes", "--grace", "0", "--no-scrub")

    assert f"Account {doomed} is gone" in said
    assert {row[0] for row in contents(owner, doomed) if row} == {0}
    assert {id: contents(owner, id) for id in others} == before
    assert owner.execute("SELECT count(*) FROM accounts_account").fetchone() == (4,)
    assert '"n"' not in database.run("verify", "--json")


def test_what_an_account_left_that_sql_deleted_goes_as_well(months: Any) -> None:
    database, owner, accounts = months
    before = contents(owner, accounts[1])
    owner.execute("DELETE FROM accounts_account WHERE id = %s", [accounts[0]])
    # And evaluations whose request somebody has deleted.
    owner.execute(f"DELETE FROM {REQUEST} WHERE account_id = %s AND id %% 3 = 0", [accounts[0]])

    said = database.run("delete_account", str(accounts[0]), "--yes", "--remains", "--no-scrub")

    assert "scores of histories" in said
    assert {row[0] for row in contents(owner, accounts[0]) if row} == {0}
    assert contents(owner, accounts[1]) == before
    assert '"n"' not in database.run("verify", "--json")


def test_without_redis_it_says_what_to_do_and_goes_on_when_redis_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    account = new_account("unreachable")
    with monkeypatch.context() as away:
        away.setattr(account_deletion, "get_shared_client", make_client_of_nobody)
        with pytest.raises(CommandError, match="Redis, where keys of the account"):
            deleted(str(account.pk), "--yes")

    assert "is gone" in deleted(str(account.pk), "--yes")


def make_client_of_nobody() -> redis.Redis:
    """Return a client of a port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return redis.Redis(host="127.0.0.1", port=taken.getsockname()[1])
