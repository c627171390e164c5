"""The last release can install its functions again, and its processes find theirs beside the functions of today."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections, transaction

from evalsvc.infra import functions
from scripts.commits import CHECKOUT, file_at, previous_release

RECORDED = Path(__file__).with_name("released_functions.txt")
"""The functions of 0.4.0, for checkouts without tags."""
SIGNATURES = """
SELECT p.oid::regprocedure || E'\\t' || pg_get_function_arguments(p.oid) || ' -> ' || pg_get_function_result(p.oid)
FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f' AND NOT EXISTS (
  SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""


@pytest.fixture
def cursor() -> Iterator[Any]:
    """The owner's, whose changes are taken back."""
    with transaction.atomic(using="owner"), connections["owner"].cursor() as made:
        yield made
        transaction.set_rollback(True, using="owner")


def signatures(cursor: Any) -> set[str]:
    cursor.execute(SIGNATURES)
    return {signature for (signature,) in cursor.fetchall()}


def install_today(cursor: Any) -> None:
    for files in functions._files.values():
        for name in files.names:
            cursor.execute(files.text(name))


def install_released(cursor: Any, tag: str) -> None:
    """Run the files of a release as it did: without dropping what returns something else."""
    for files in functions._files.values():
        for name in files.names:
            text = file_at(tag, str((files.directory / f"{name}.sql").relative_to(CHECKOUT)))
            if text is not None:
                cursor.execute(functions.COLUMNS.sub(files._names, text))


def test_going_back_and_forward_keeps_the_functions_of_the_last_release(cursor: Any) -> None:
    tag = previous_release()
    if tag is None:
        pytest.skip("no tag is known here; the recorded signatures are compared")
    install_released(cursor, tag)
    released = signatures(cursor)

    install_today(cursor)
    assert released - signatures(cursor) == set(), "give a function with other results a new name, and keep the old one"
    install_released(cursor, tag)


def test_no_function_returns_something_else_under_a_recorded_name(cursor: Any) -> None:
    recorded = dict(line.split("\t") for line in RECORDED.read_text("utf-8").splitlines())
    today = dict(line.split("\t") for line in signatures(cursor))

    assert len(recorded) > 80
    assert {key: today[key] for key in recorded.keys() & today.keys() if today[key] != recorded[key]} == {}
