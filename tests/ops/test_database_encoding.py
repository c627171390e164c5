"""A server that was set up in the locale C makes databases that know no letters; ours knows them all the same."""

from __future__ import annotations

import psycopg
import pytest

from evalsvc.local.embedded.throwaway import throwaway
from tests.growth.databases import Database

WITHOUT_LETTERS = (
    "ALTER DATABASE template1 IS_TEMPLATE false",
    "DROP DATABASE template1",
    "CREATE DATABASE template1 TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C' IS_TEMPLATE true",
    "DROP DATABASE evalsvc",
)


@pytest.mark.parametrize("statements", [WITHOUT_LETTERS[-1:], WITHOUT_LETTERS], ids=["UTF8", "SQL_ASCII"])
def test_a_database_is_made_in_utf8(statements: tuple[str, ...]) -> None:
    with throwaway() as made:
        with psycopg.connect(made.postgres.url, autocommit=True) as administrator:
            for statement in statements:
                administrator.execute(statement)
        ours = Database("evalsvc", made.env | {"DATABASE_ADMIN_URL": made.postgres.url})

        ours.run("bootstrap", "--no-migrate")

        with ours.connect("app") as connection:
            assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)
