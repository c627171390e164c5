"""Partitions: nobody reads one by its name, what belongs together stands together, and none is ever missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, ProgrammingError, connections, transaction

from evalsvc.evaluations.database.partitions import make_partitions
from evalsvc.evaluations.models import Evaluation
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.growth.databases import Database, migrated_database
from tests.work.keeping import SUCCESS, keep

NAMES = "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' ORDER BY 1"
PARENTS = ("evaluationrequest", "evaluation", "evaluationtag", "historyscore")


def query(sql: str, values: Any = None, alias: str = "owner") -> list[tuple[Any, ...]]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


@pytest.fixture
def kept(alice: Caller) -> Iterator[Any]:
    yield keep(alice, SUCCESS | {"captured": True, "in_history": True}, {})


@pytest.fixture(scope="module")
def empty() -> Iterator[Database]:
    with migrated() as database:
        yield database


@contextmanager
def migrated() -> Iterator[Database]:
    from tests import services

    with migrated_database(services.servers.postgres.url) as database:
        yield database


ROWS = """
WITH request AS (
  INSERT INTO evaluations_evaluationrequest (id, account_id, capture, strategy, fingerprint, completed_at)
  SELECT id_at(now() + %(later)s::interval) + 2 * %(n)s, 1, 'all', 'none', 1, now() RETURNING id
)
INSERT INTO evaluations_evaluation (
  id, account_id, request_id, position, evaluator_id, explain_strategy, status, in_history, n_attempts, n_sweeps)
SELECT id + 1, 1, id, 0, 'x', 'never', 'error', false, 0, 0 FROM request RETURNING tableoid::regclass::text
"""


def stands_in(connection: psycopg.Connection[Any], later: str, n: int) -> str:
    with connection.transaction():
        connection.execute("SET LOCAL app.account_id = '1'")
        return str(connection.execute(ROWS, {"later": later, "n": n}).fetchone()[0])  # type: ignore[index]


@pytest.mark.parametrize("alias", ["default", "system"])
def test_nobody_reads_or_writes_a_partition_by_its_name(alice: Caller, kept: Any, alias: str) -> None:
    names = [name for (name,) in query(NAMES)]
    assert len(names) >= 4 * len(PARENTS)
    for name in names:
        for sql in (f"SELECT 1 FROM {name}", f"DELETE FROM {name}", f"INSERT INTO {name} DEFAULT VALUES"):
            with pytest.raises(ProgrammingError, match="permission denied"), account_scope(alice.account.pk):
                connections[alias].cursor().execute(sql)


def test_a_partition_shows_nothing_to_who_was_given_rights_by_mistake(empty: Database) -> None:
    with empty.connect("owner") as owner, empty.connect("app") as app:
        stands_in(app, "0", 5)
        before = owner.execute("SELECT count(*) FROM evaluations_evaluation").fetchone()
        for (name,) in owner.execute(NAMES).fetchall():
            owner.execute(f"GRANT SELECT, INSERT, DELETE ON {name} TO PUBLIC")
            with app.transaction():
                app.execute("SET LOCAL app.account_id = '1'")
                assert app.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,)
                assert app.execute(f"DELETE FROM {name}").rowcount == 0
            owner.execute(f"REVOKE ALL ON {name} FROM PUBLIC")
        assert owner.execute("SELECT count(*) FROM evaluations_evaluation").fetchone() == before


def test_only_the_system_makes_partitions() -> None:
    for sql in ("SELECT make_partitions(9)", "SELECT * FROM rows_without_partition(1)"):
        with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
            query(sql, alias="default")
    assert make_partitions() == []


def test_evaluations_stand_with_their_request(alice: Caller, kept: Any) -> None:
    ids = [kept.request_id, *kept.evaluation_ids]

    assert ids == sorted(ids)
    assert len({id >> 22 for id in ids}) == 1


def test_an_evaluation_is_not_kept_away_from_its_request(alice: Caller, kept: Any) -> None:
    later = query("SELECT low + 1 FROM partitions_of('evaluations_evaluation') ORDER BY 1 DESC NULLS LAST LIMIT 1")[0][
        0
    ]
    with pytest.raises(IntegrityError, match="ck_evaluation_with_request"), account_scope(alice.account.pk):
        Evaluation.objects.create(
            id=later, request_id=kept.request_id, account=alice.account, status="pending", evaluator_id="x", position=7
        )


def test_a_position_is_taken_once(alice: Caller, kept: Any) -> None:
    columns = {"account": alice.account, "status": "pending", "evaluator_id": "x", "position": 1}
    with pytest.raises(IntegrityError, match="uq_evaluation_position"), account_scope(alice.account.pk):
        Evaluation.objects.create(id=kept.evaluation_ids[1] + 9, request_id=kept.request_id, **columns)


def test_ids_ascend_past_the_end_of_their_sequence(empty: Database) -> None:
    with empty.connect("owner") as owner:
        owner.execute("SELECT setval('next_id_sequence', 4194300)")
        owner.execute("DISCARD SEQUENCES")
        (ids,) = owner.execute("SELECT next_ids(20)").fetchone()

    assert ids == sorted(set(ids))
    assert [ids[0] & 4194303, ids[-1] & 4194303] == [0, 4194303]
    assert len({id >> 22 for id in ids}) == 1


def test_rows_before_their_partition_are_kept_told_and_given_one(empty: Database) -> None:
    """The service has run for half a year, and nobody has made partitions."""
    with empty.connect("owner") as owner, empty.connect("app") as app, empty.connect("system") as system:
        assert stands_in(app, "6 months", 1) == "evaluations_evaluation_default"
        assert stands_in(app, "20 years", 2) == "evaluations_evaluation_default"
        told = system.execute("SELECT parent, account_id FROM rows_without_partition()").fetchall()
        assert sorted(told) == [(f"evaluations_{name}", 1) for name in ("evaluation",) * 2 + ("evaluationrequest",) * 2]
        found = "SELECT tableoid::regclass::text, md5(e::text) FROM evaluations_evaluation e ORDER BY id"
        before = owner.execute(found).fetchall()
        n = len(before)

        made = system.execute("SELECT make_partitions(7)").fetchone()[0]  # type: ignore[index]

        after = owner.execute(found).fetchall()
        assert [digest for _, digest in after] == [digest for _, digest in before]
        # A clock that runs twenty years ahead has no partition, and keeps nobody from theirs.
        assert after[-2][0] in made
        assert after[-1][0] == "evaluations_evaluation_default"
        assert system.execute("SELECT count(*) FROM rows_without_partition()").fetchone() == (2,)
        assert stands_in(app, "6 months", 3) == after[-2][0]
        assert stands_in(app, "6 months", 4).startswith("evaluations_evaluation_20")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute(f"SELECT 1 FROM {after[-2][0]}")
        assert system.execute("SELECT make_partitions(7)").fetchone() == ([],)
        lost = owner.execute("SELECT count(*) FROM pg_index WHERE NOT indisvalid").fetchone()
        assert lost == (0,)
        assert owner.execute("SELECT count(*) FROM evaluations_evaluation").fetchone() == (n + 2,)
        for table in PARENTS:
            rows = owner.execute("SELECT low, high FROM partitions_of(%s)", [f"evaluations_{table}"]).fetchall()
            assert [low for low, _ in rows[1:]] == [high for _, high in rows[:-1]]


def test_an_index_of_somebody_s_own_stops_no_partition() -> None:
    """PostgreSQL's own name for it is so long that the end of a partition's would be cut off."""
    n_indexes = "SELECT count(*) FROM pg_index WHERE indrelid = %s::regclass"
    # In a database of its own: months ahead that are there already are what another test must not meet.
    with migrated() as empty, empty.connect("owner") as owner, empty.connect("system") as system:
        owner.execute("CREATE INDEX ON evaluations_evaluation (account_id, completed_at, profile_revision, feedback)")
        made = system.execute("SELECT make_partitions(9)").fetchone()[0]  # type: ignore[index]

        assert len(made) >= 2 * len(PARENTS)
        expected = owner.execute(n_indexes, ["evaluations_evaluation_default"]).fetchone()
        for name in made:
            if name.startswith("evaluations_evaluation_"):
                assert owner.execute(n_indexes, [name]).fetchone() == expected
        assert stands_in(owner, "11 months", 5) == "evaluations_evaluation_default"
        assert system.execute("SELECT make_partitions(12)").fetchone() != ([],)
        assert owner.execute(n_indexes, ["evaluations_evaluation_default"]).fetchone() == expected


def test_what_every_evaluation_goes_through_is_planned_once_in_a_session() -> None:
    planned = query("SELECT proname FROM pg_proc WHERE 'plan_cache_mode=force_generic_plan' = ANY(proconfig)")
    assert {name for (name,) in planned} >= {
        "capture_requests", "capture_request", "newest_scores", "claim_cpu_lane", "claim_judging", "read_judging",
        "finish_evaluations", "insert_scores", "keep_tags", "lease_evaluations",
    }  # fmt: skip


def test_claims_look_at_this_month_and_the_last_one_first_and_at_all_of_time_then() -> None:
    ranges = query(
        "SELECT array_agg(ARRAY[r.low, r.high]) FROM generate_series(1, 400) n,"
        " claimed_ranges('2026-08-31Z'::timestamptz + n * interval '1 s') r"
    )
    months, everything = {tuple(one) for one in ranges[0][0]} - {(-(2**63), 2**63 - 1)}, [-(2**63), 2**63 - 1]
    assert months == set(query("SELECT id_at('2026-07-01Z'), id_at('2026-09-01Z')"))
    # Each claim ends with all; some begin with it.
    assert ranges[0][0].count(everything) == 400 < len(ranges[0][0]) < 800
