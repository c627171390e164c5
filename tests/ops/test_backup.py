"""Backup under load, and its restore into a new server: nothing differs, and a broken backup changes nothing."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests import services
from tests.growth.databases import Database, migrated_database
from tests.ops.backups import SECRETS, call, empty_server, evaluate, histories, keep_histories, load, manifest_of
from tests.serving import serving

pytestmark = pytest.mark.slow


@dataclass
class BackedUpDatabase:
    """A database whose service made evaluations while it was backed up."""

    database: Database
    directory: Path
    key: str
    histories: list[bytes]
    n_made: int


@dataclass
class EmptyDatabase:
    """Where a restore goes: a server of its own, with the secrets of the first."""

    database: Database
    admin_url: str
    env: dict[str, str]

    def restore(self, directory: Path, **changed: str) -> tuple[int, str]:
        there = Database(self.database.name, self.database.urls | self.env | changed)
        process = there.command("restore", str(directory))
        output, _ = process.communicate(timeout=600)
        return process.returncode, output

    def objects(self) -> int:
        with self.database.connect("owner") as owner:
            query = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            return int(owner.execute(query).fetchone()[0])  # type: ignore[index]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BackedUpDatabase]:
    home = tmp_path_factory.mktemp("backup")
    with migrated_database(services.servers.postgres.url) as database:
        database.urls["EVALSVC_HOME"] = str(home)
        key = json.loads(database.run("seed_demo", "--json"))["EVALSVC_API_KEY"]
        with serving(home / "web.log", **database.urls) as url:
            keep_histories(url, key)
            with load(url, key) as counted:
                directory = home / "first"
                database.run("backup", str(directory), "--secrets", str(home / "secrets.env"))
            assert not counted.failed
            yield BackedUpDatabase(database, directory, key, histories(url, key), counted.n_made)


@pytest.fixture
def target() -> Iterator[EmptyDatabase]:
    with empty_server() as (made, database):
        yield EmptyDatabase(database, made.postgres.url, {name: os.environ[name] for name in SECRETS})


def test_a_backup_under_load_comes_back_as_it_was(
    source: BackedUpDatabase, target: EmptyDatabase, tmp_path: Path
) -> None:
    # Nothing but the administrator is there: roles, database and rights are made first.
    with psycopg.connect(target.admin_url, autocommit=True) as administrator:
        administrator.execute("DROP DATABASE evalsvc")
        administrator.execute("DROP ROLE evalsvc_owner, evalsvc_app, evalsvc_system, evalsvc_signin")

    status, said = target.restore(source.directory, DATABASE_ADMIN_URL=target.admin_url)

    assert status == 0, said
    assert "all is as it was, and `verify` finds nothing wrong" in said
    made = manifest_of(source.directory)["facts"]["rows"]
    assert sum(n for name, n in made.items() if name.startswith("evaluations_evaluationrequest")) > 0
    env = target.database.urls | target.env
    with serving(tmp_path / "web.log", **env) as url:
        assert call(url, source.key, "/v1/whoami")[0] == 200
        assert histories(url, source.key) == source.histories
        assert evaluate(url, source.key, 1) == 200
    assert "WRONG" not in target.database.run("verify")
    with psycopg.connect(target.admin_url, autocommit=True) as administrator:
        administrator.execute("CREATE ROLE stranger LOGIN PASSWORD 'stranger'")
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        address = target.database.urls["DATABASE_URL"].partition("@")[2]
        psycopg.connect(f"postgresql://stranger:stranger@{address}")

    again, why = target.restore(source.directory)

    assert (again, "not empty" in why) == (1, True)


def test_secrets_are_apart(source: BackedUpDatabase) -> None:
    apart = source.directory.parent / "secrets.env"
    assert stat.S_IMODE(apart.stat().st_mode) == 0o600
    assert all(os.environ[name] in apart.read_text() for name in SECRETS)
    for path in source.directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not [name for name in SECRETS if os.environ[name].encode() in path.read_bytes()]
    assert {path.name for path in source.directory.iterdir()} == {"manifest.json", "data.dump"}
    made = manifest_of(source.directory)
    assert len(made["facts"]["histories"]) == 20
    assert made["secrets"]["KEY_PEPPER"][0] not in os.environ["KEY_PEPPER"]
    again = source.database.command("backup", str(source.directory))
    said, _ = again.communicate()
    assert again.returncode == 1
    assert "no empty folder" in said
    assert "Traceback" not in said


def cut(directory: Path) -> None:
    with (directory / "data.dump").open("r+b") as file:
        file.truncate((directory / "data.dump").stat().st_size - 100)


def altered(directory: Path) -> None:
    with (directory / "data.dump").open("r+b") as file:
        file.seek(-100, 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))


def recounted(directory: Path) -> None:
    made = manifest_of(directory)
    made["facts"]["rows"]["accounts_account"] += 1
    (directory / "manifest.json").write_text(json.dumps(made))


def unfinished(directory: Path) -> None:
    (directory / "manifest.json").unlink()


def without_dump(directory: Path) -> None:
    (directory / "data.dump").unlink()


REFUSED = [
    (cut, {}, "cut or altered"),
    (altered, {}, "SHA-256 is not the manifest's"),
    (recounted, {}, "its seal does not fit"),
    (unfinished, {}, "was not finished"),
    (without_dump, {}, "is missing"),
    (None, {"KEY_PEPPER": "p" * 40}, "no API key would match"),
    (None, {"ENCRYPTION_KEYS": ""}, "ENCRYPTION_KEYS lacks 1 of the backup's keys"),
]


def test_what_does_not_fit_is_refused_before_anything_is_written(
    source: BackedUpDatabase, target: EmptyDatabase, tmp_path: Path
) -> None:
    for n, (spoil, env, why) in enumerate(REFUSED):
        directory = tmp_path / str(n)
        directory.mkdir()
        for path in source.directory.iterdir():
            (directory / path.name).write_bytes(path.read_bytes())
        if spoil:
            spoil(directory)

        status, said = target.restore(directory, **env)

        assert status == 1
        assert why in said
        assert "Traceback" not in said
        assert target.objects() == 0
    app = target.database.urls["DATABASE_URL"].replace("evalsvc_app", "other_app")
    status, said = target.restore(source.directory, DATABASE_URL=app)
    assert (status, "evalsvc_app and not other_app" in said, target.objects()) == (1, True, 0)
