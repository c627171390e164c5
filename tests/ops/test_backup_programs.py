"""Which pg_dump is used, what is not on its command line, and what a comparison says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from evalsvc.ops.backup.facts import Facts, differing_facts
from evalsvc.ops.backup.programs import BackupRefused, client_program, connect, run_client


def program(folder: Path, version: str, does: str = "") -> Path:
    folder.mkdir()
    path = folder / "pg_dump"
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then echo "pg_dump (PostgreSQL) {version}"; exit; fi\n{does}\n'
    )
    path.chmod(0o755)
    return path


def test_a_client_older_than_the_server_is_passed_over(tmp_path: Path) -> None:
    old, new = program(tmp_path / "old", "15.14 (Debian 15.14-0)"), program(tmp_path / "new", "18.1")

    assert client_program("pg_dump", 15, [old, new]) == old
    assert client_program("pg_dump", 18, [old, new]) == new
    with pytest.raises(BackupRefused, match=r"no pg_dump here is of version 18 or newer .*old/pg_dump of version 15"):
        client_program("pg_dump", 18, [old])


def test_the_environment_holds_one_for_its_own_server(servers: Any) -> None:
    assert client_program("pg_dump", 18).name == "pg_dump"


def test_a_password_is_no_argument_and_a_failure_tells_its_lines(tmp_path: Path) -> None:
    does = 'echo "$@" > "$0.args"; echo "$PGPASSWORD" > "$0.password"; echo "disk full" >&2; exit 3'
    fake = program(tmp_path / "fake", "18.1", does)

    with pytest.raises(BackupRefused, match=r"pg_dump ended with 3:\ndisk full"):
        run_client(fake, "postgresql://owner:p%40ss@a:1,b/db?sslmode=require", "--format=custom")

    assert Path(f"{fake}.args").read_text() == "--format=custom --dbname=postgresql://owner@a:1,b/db?sslmode=require\n"
    assert Path(f"{fake}.password").read_text() == "p@ss\n"


def test_a_database_that_is_away_is_told() -> None:
    url = os.environ["DATABASE_MIGRATION_URL"].partition("?")[0] + "?host=/nowhere"
    with pytest.raises(BackupRefused, match="DATABASE_MIGRATION_URL does not answer"):
        connect(url)


def test_differences_are_named_and_a_sequence_may_be_ahead() -> None:
    before: Facts = {"rows": {"a": 1, "b": 2}, "sequences": {"ids": 5, "others": 5}, "policies": {"p": "USING (mine)"}}

    assert list(differing_facts(before, before)) == []
    assert list(differing_facts(before, before | {"sequences": {"ids": 9, "others": 5}})) == []
    behind: Facts = before | {"sequences": {"ids": 4, "others": 5}, "rows": {"a": 1, "b": 3}, "policies": {}}
    assert list(differing_facts(before, behind)) == [
        "rows: 1 differ. b: 2 is 3",
        "sequences: 1 differ. ids: 5 is 4",
        "policies: 1 differ. p: 'USING (mine)' is None",
    ]


def test_an_index_that_postgresql_writes_in_other_words_is_the_same() -> None:
    made = (
        "CREATE UNIQUE INDEX one ON t USING btree (a) WHERE ((b)::text = ANY ((ARRAY['x'::character varying])::text[]))"
    )
    read_again = (
        "CREATE UNIQUE INDEX one ON t USING btree (a) WHERE ((b)::text = ANY (ARRAY[('x'::character varying)::text]))"
    )
    other = read_again.replace("'x'", "'y'")

    assert list(differing_facts({"indexes": {"one": made}}, {"indexes": {"one": read_again}})) == []
    assert len(list(differing_facts({"indexes": {"one": made}}, {"indexes": {"one": other}}))) == 1
    assert len(list(differing_facts({"indexes": {"one": made}}, {"indexes": {}}))) == 1
