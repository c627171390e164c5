"""The functions of the database: installed with the code, known by a digest, and looked at before a process serves."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connections

from evalsvc.infra import functions
from evalsvc.infra.functions import (
    ForeignFunctions,
    FunctionFiles,
    check_functions,
    function_text,
    functions_digest,
    install_functions,
    installed_digests,
    is_fully_migrated,
    register_functions,
)
from evalsvc.ops.at_start import refuse_foreign_functions
from tests.docs.pages import CHECKOUT
from tests.growth.databases import Database, new_database

DIRECTORIES = sorted((CHECKOUT / "evalsvc").glob("*/sql"))


def names_in(text: str) -> set[str]:
    return set(re.findall(r"^CREATE (?:OR REPLACE )?FUNCTION (\w+)", text, re.MULTILINE))


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[None]:
    """A later version: one function more."""
    (tmp_path / "more.sql").write_text(
        f"-- {uuid.uuid4()}\nCREATE OR REPLACE FUNCTION of_a_later_version() RETURNS int LANGUAGE sql IMMUTABLE RETURN 1;"
    )
    monkeypatch.setattr(functions, "_files", dict(functions._files))
    register_functions("later", FunctionFiles(tmp_path, ("more",)))
    yield
    with connections["owner"].cursor() as cursor:
        cursor.execute("DROP FUNCTION IF EXISTS of_a_later_version()")


def remember_others(cursor: Any) -> None:
    """Have the database believe that another version's functions are installed."""
    cursor.execute(functions.REMEMBER.format("'0123456789abcdef'"))


@pytest.fixture
def restored() -> Iterator[None]:
    """Leave to other tests what the code has."""
    yield
    install_functions("owner")


def is_there(name: str) -> bool:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM pg_proc WHERE proname = %s)", [name])
        return bool(cursor.fetchone()[0])


def test_the_database_has_the_functions_of_the_code() -> None:
    assert is_fully_migrated(connections["owner"])
    assert installed_digests(connections["default"])[-1] == functions_digest()
    assert check_functions(connections["default"]) is None
    assert install_functions("owner") is False


def test_every_file_of_every_app_is_installed() -> None:
    known = {(files.directory, name) for files in functions._files.values() for name in files.names}

    assert known == {(path.parent, path.stem) for directory in DIRECTORIES for path in directory.glob("*.sql")}
    for files in functions._files.values():
        for name in files.names:
            assert "{{" not in files.text(name)


def test_every_function_of_the_files_is_there_as_the_files_say() -> None:
    """Nobody has changed one by hand, or by a migration."""
    with connections["owner"].cursor() as cursor:
        for app, files in functions._files.items():
            for name in files.names:
                for function in names_in(function_text(app, name)):
                    cursor.execute("SELECT prosrc FROM pg_proc WHERE proname = %s", [function])
                    sources = [source for (source,) in cursor.fetchall()]
                    assert len(sources) == 1, f"{function}: an older one of the name is left; drop it in its file"
                    assert sources[0] in function_text(app, name), function


@pytest.mark.usefixtures("restored")
def test_a_function_that_changes_is_installed_without_a_migration(others: None) -> None:
    before = installed_digests(connections["owner"])

    assert install_functions("owner") is True
    assert is_there("of_a_later_version")
    assert installed_digests(connections["default"]) == [*before, functions_digest()]


@pytest.mark.usefixtures("restored")
def test_a_process_of_before_goes_on_beside_later_functions(others: None, monkeypatch: pytest.MonkeyPatch) -> None:
    own = installed_digests(connections["owner"])[-1]
    install_functions("owner")
    monkeypatch.delitem(functions._files, "later")

    assert functions_digest() == own
    assert "Another version" in (check_functions(connections["default"]) or "")
    refuse_foreign_functions()
    assert [message.id for message in run_checks(tags=["database"], databases=["default"])] == ["evalsvc.W004"]


def test_a_process_does_not_start_with_functions_that_were_never_there(others: None) -> None:
    with pytest.raises(ForeignFunctions, match=r"migrate --database owner"):
        check_functions(connections["default"])
    with pytest.raises(SystemExit, match=r"does not start"):
        refuse_foreign_functions()
    assert [message.id for message in run_checks(tags=["database"], databases=["default"])] == ["evalsvc.E004"]
    # `migrate` is the remedy, and is not kept from it.
    assert run_checks(tags=["database"], databases=["owner"]) == []


@pytest.mark.usefixtures("restored")
def test_all_are_installed_or_none(others: None, tmp_path: Any) -> None:
    before = installed_digests(connections["owner"])
    (tmp_path / "wrong.sql").write_text("CREATE FUNCTION nonsense() RETURNS int LANGUAGE sql RETURN no_such_column;")
    register_functions("wrong", FunctionFiles(tmp_path, ("wrong",)))

    with pytest.raises(Exception, match="no_such_column"):
        install_functions("owner")
    assert not is_there("of_a_later_version")
    assert installed_digests(connections["owner"]) == before


@pytest.mark.usefixtures("restored")
def test_a_function_that_returns_something_else_in_a_later_version_is_replaced() -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("DROP FUNCTION history_facts(int, text, boolean)")
        cursor.execute(
            "CREATE FUNCTION history_facts(p_revision int, p_source text, p_passed boolean, OUT a int, OUT b int)"
            " LANGUAGE sql IMMUTABLE RETURN ROW(1, 2)"
        )
        remember_others(cursor)

        assert install_functions("owner") is True
        cursor.execute("SELECT history_facts(1, 'evaluation', true)")
        assert cursor.fetchone() == (18,)


@pytest.fixture
def database(servers: Any) -> Iterator[Database]:
    with new_database(servers.postgres.url) as made:
        yield made


def test_what_is_half_migrated_waits_for_its_functions(database: Database) -> None:
    """A function may name a column that a later migration adds."""
    database.migrate("evaluations")

    with database.connect("app") as app:
        assert app.execute("SELECT to_regprocedure('installed_functions()')").fetchone() == (None,)
