"""Why PostgreSQL or Redis cannot serve: what an answer says, and what is tried again."""

from __future__ import annotations

from pathlib import Path

import psycopg.errors
import pytest
from django.db import OperationalError
from redis.exceptions import ConnectionError as RedisDown
from redis.exceptions import ResponseError

from evalsvc.local import disk
from evalsvc.tenancy.outages import explain_outage, is_outage

AWAY = OperationalError("connection refused")
STUCK = ResponseError("MISCONF Errors writing to the AOF file: No space left on device")


def full_database() -> OperationalError:
    failure = OperationalError("could not extend file")
    failure.__cause__ = psycopg.errors.DiskFull("could not extend file")
    return failure


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (full_database(), "The disk of the database is full."),
        (STUCK, "Redis cannot write to its disk."),
        (AWAY, ""),
        (RedisDown("away"), ""),
        (ResponseError("WRONGTYPE"), ""),
    ],
)
def test_an_outage_has_its_reason(
    failure: Exception, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSVC_HOME", str(tmp_path))
    monkeypatch.setattr(disk, "_free", lambda home: disk.SHORT_BYTES)
    assert explain_outage(failure) == reason


@pytest.mark.parametrize("failure", [AWAY, RedisDown("away")])
def test_a_server_that_is_away_is_explained_by_the_disk_it_was_on(
    failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSVC_HOME", str(tmp_path))
    monkeypatch.setattr(disk, "_free", lambda home: disk.SHORT_BYTES - 1)
    assert explain_outage(failure) == "The disk of the service is full."


def test_redis_that_cannot_write_is_an_outage_and_a_wrong_command_is_not() -> None:
    assert is_outage(STUCK)
    assert not is_outage(ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"))
