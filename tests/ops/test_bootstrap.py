"""From an empty server to the first evaluation, by commands alone; and two who migrate at once."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from evalsvc.local.embedded.home import read_env_file
from tests.conftest import wait_until
from tests.growth.databases import MIGRATE, Database
from tests.ops.backups import bare_server, call, evaluate
from tests.serving import serving

pytestmark = pytest.mark.slow


def outcome(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=600)
    assert "Traceback" not in output
    return process.returncode, output


@pytest.fixture(scope="module")
def bare() -> Iterator[Database]:
    with bare_server() as made:
        yield made


def test_an_installation_begins_without_the_demo(bare: Database, tmp_path: Path) -> None:
    without = Database(bare.name, bare.urls | {"DATABASE_ADMIN_URL": ""})
    status, said = outcome(without.command("bootstrap"))
    assert (status, "DATABASE_ADMIN_URL is not set" in said) == (1, True)

    for _ in range(2):
        assert "Migrated" in bare.run("bootstrap")
    made = tmp_path / "account.env"
    made.write_text(bare.run("create_account", "Acme", "--operator", "Ada@example.com"))
    values = read_env_file(made)
    assert set(values) == {"EVALSVC_ADMIN_USER", "EVALSVC_ADMIN_PASSWORD", "EVALSVC_API_KEY"}
    assert values["EVALSVC_ADMIN_USER"] == "ada@example.com"

    with serving(tmp_path / "web.log", **bare.urls) as url:
        assert call(url, values["EVALSVC_API_KEY"], "/v1/whoami")[0] == 200
        assert evaluate(url, values["EVALSVC_API_KEY"], 0) == 200
    with bare.connect("system") as system:
        found = system.execute(
            "SELECT is_superuser, role FROM accounts_user u JOIN accounts_member m ON m.user_id = u.id"
            " WHERE email = 'ada@example.com'"
        ).fetchall()
    assert found == [(True, "admin")]


def test_an_account_is_made_whole_or_not_at_all(bare: Database, tmp_path: Path) -> None:
    weak = tmp_path / "password"
    weak.write_text("1234567\n")
    bare.run("bootstrap")
    refused = [
        (("Beta", "--operator", "no-address"), "valid email"),
        (("Beta", "--operator", "b@example.com", "--password-file", str(weak)), "at least 12 characters"),
        (("Beta", "--operator", "b@example.com", "--password-file", "/nowhere"), "cannot be read"),
        (("Beta", "--password-file", str(weak)), "--operator EMAIL, which is missing"),
        (("x" * 101,), "at most 100 characters"),
    ]
    for arguments, why in refused:
        status, said = outcome(bare.command("create_account", *arguments))
        assert (status, why in said) == (1, True), said
    with bare.connect("system") as system:
        assert system.execute("SELECT count(*) FROM accounts_account WHERE name LIKE 'Beta%'").fetchone() == (0,)

    weak.write_text("a long enough passphrase\n")
    said = bare.run("create_account", "Beta", "--operator", "b@example.com", "--password-file", str(weak), "--no-key")

    assert said.split() == ["EVALSVC_ADMIN_USER=b@example.com"]
    status, said = outcome(bare.command("create_account", "Beta"))
    assert (status, "already exists" in said) == (1, True)


def test_roles_with_other_passwords_are_refused(bare: Database) -> None:
    bare.run("bootstrap", "--no-migrate")
    owner = bare.urls["DATABASE_MIGRATION_URL"]
    password = owner.partition("evalsvc_owner:")[2].partition("@")[0]
    other = Database(bare.name, bare.urls | {"DATABASE_MIGRATION_URL": owner.replace(password, "other")})

    status, said = outcome(other.command("bootstrap"))

    assert (status, "exists on the server, but not with the password" in said) == (1, True)


def test_the_second_of_several_hosts_serves(bare: Database) -> None:
    bare.run("bootstrap")
    urls = {}
    for name, url in bare.urls.items():
        if name.startswith("DATABASE_") and name != "DATABASE_ADMIN_URL":
            login, _, place = url.partition("@/evalsvc?host=")
            sockets = place.partition("&")[0]
            hosts = f"%2Fnowhere,{sockets.replace('/', '%2F')}:5432"
            urls[name] = f"{login}@{hosts}/evalsvc?target_session_attrs=read-write"

    assert "WRONG" not in Database(bare.name, bare.urls | urls).run("verify")


def test_who_migrates_second_waits_for_the_first(bare: Database) -> None:
    bare.run("bootstrap")
    with psycopg.connect(bare.urls["DATABASE_MIGRATION_URL"]) as first:
        first.execute("SELECT pg_advisory_xact_lock(3, hashint8(0))")
        second = bare.command(*MIGRATE)
        # It asks for the lock again and again: to wait in the database would be a transaction.
        asking = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_try_advisory_lock%' AND pid <> pg_backend_pid()"
        with bare.connect("owner") as watcher:
            wait_until(lambda: watcher.execute(asking).fetchone() == (1,))
        assert second.poll() is None
        first.rollback()
    status, said = outcome(second)

    assert (status, "Another process migrates" in said) == (0, True)


def test_a_migration_gives_up_behind_a_table_in_use(bare: Database) -> None:
    bare.run("bootstrap")
    with bare.connect("owner") as busy, busy.transaction():
        busy.execute("LOCK TABLE django_migrations")
        hasty = Database(bare.name, bare.urls | {"EVALSVC_MIGRATION_LOCK_SECONDS": "1"})

        status, said = outcome(hasty.command(*MIGRATE))

        assert (status, "A table was in use for too long" in said) == (1, True)
    bare.migrate()
