"""Advisory locks: each has a name and a key of its own, and nobody takes one that is not in the register."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterator

import pytest
from django.db import connections, transaction

from evalsvc.infra.locks import ALL, BUDGET, CLIENT_SCORES, EQUAL_CALLS, PLANNER, PROMOTION, AdvisoryLock
from tests.docs.pages import CHECKOUT

CALL = re.compile(r"pg_(?:try_)?advisory_xact_lock\(((?:[^()]|\([^()]*\))*)\)")
ANY_ADVISORY = re.compile(r"pg_(?:try_)?advisory\w*\(")
SOURCES = sorted({*(CHECKOUT / "evalsvc").rglob("*.py"), *(CHECKOUT / "evalsvc").rglob("*.sql")})
# As releases before the register wrote them: they may run beside this one.
BEFORE = [
    (EQUAL_CALLS, "%s"),
    (PLANNER, "%s"),
    (PROMOTION, "hashtextextended('promote', %s)"),
    (CLIENT_SCORES, "hashtextextended('keep_client_evaluations', %s::bigint)"),
    (BUDGET, "1, hashint8(%s::bigint)"),
]


def pattern_of(lock: AdvisoryLock) -> str:
    """Return what matches the key with any column or variable as its object."""
    return re.escape(lock.key).replace(re.escape("{}"), r"(?:[a-z_.]+|0)")


def taken_in(text: str) -> Iterator[str]:
    found = CALL.findall(text)
    assert len(found) == len(ANY_ADVISORY.findall(text))
    yield from found


@pytest.fixture
def number() -> int:
    return uuid.uuid4().int % 2**40


@pytest.fixture
def other() -> Iterator[str]:
    """A session beside the one that holds."""
    yield "system"
    connections["system"].close()


def is_free(role: str, key: str, number: int) -> bool:
    """Say whether a session of another role may take a key, and take it for no time."""
    with transaction.atomic(using=role), connections[role].cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_xact_lock({key})", [number])
        return bool(cursor.fetchone()[0])


def test_names_are_given_once() -> None:
    assert len({lock.name for lock in ALL}) == len(ALL)


def test_keys_are_given_once_but_for_what_is_a_number_of_64_bits_itself() -> None:
    assert {key: n for key, n in Counter(lock.key for lock in ALL).items() if n > 1} == {"{}": 2}


def test_classes_of_keys_of_two_numbers_are_given_once() -> None:
    classes = [match[1] for lock in ALL if (match := re.match(r"(\d+), ", lock.key))]
    assert sorted(classes) == ["1", "2", "3", "4", "5", "6", "7"]


def test_code_takes_locks_from_the_register_alone() -> None:
    strays = {path.name for path in SOURCES if path.suffix == ".py" and ANY_ADVISORY.search(path.read_text("utf-8"))}
    assert strays == {"locks.py"}


def test_functions_in_the_database_take_registered_locks_alone() -> None:
    taken = {key for path in SOURCES if path.suffix == ".sql" for key in taken_in(path.read_text("utf-8"))}
    named = {key: [lock.name for lock in ALL if re.fullmatch(pattern_of(lock), key)] for key in taken}

    assert len(named) >= 5
    assert {key: names for key, names in named.items() if len(names) != 1} == {}


def test_what_is_said_of_sql_is_so() -> None:
    sql = "".join(path.read_text("utf-8") for path in SOURCES if path.suffix == ".sql")
    taken = {lock.name for key in taken_in(sql) for lock in ALL if re.fullmatch(pattern_of(lock), key)}

    assert taken == {lock.name for lock in ALL if "in SQL" in lock.what_for}


@pytest.mark.parametrize(("lock", "key"), BEFORE, ids=lambda one: getattr(one, "name", ""))
def test_an_earlier_release_beside_this_one_means_the_same_lock(
    lock: AdvisoryLock, key: str, number: int, other: str
) -> None:
    with transaction.atomic(), connections["default"].cursor() as cursor:
        lock.take(cursor, number)
        assert not is_free(other, key, number)
        assert is_free(other, key, number + 1)
    assert is_free(other, key, number)


def test_a_lock_that_another_has_is_not_waited_for(number: int, other: str) -> None:
    with transaction.atomic(), connections["default"].cursor() as cursor:
        assert PLANNER.try_take(cursor, number) and PLANNER.try_take(cursor, number)
        with transaction.atomic(using=other), connections[other].cursor() as theirs:
            assert not PLANNER.try_take(theirs, number)
            assert PLANNER.try_take(theirs, number + 1)
