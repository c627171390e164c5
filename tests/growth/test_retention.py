"""Retention: who keeps what for how long, whole partitions or portions, and nobody's rows but those past their rule."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connections
from django.test import override_settings

from benchmarks.growth_rows import fill, new_accounts
from evalsvc.accounts.services import change_retention
from evalsvc.celery import app
from evalsvc.evaluations.maintenance import retention
from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.evaluations.rollups.keep import recount_days
from tests import leftovers
from tests.conftest import Caller, findings, wait_until
from tests.growth.databases import Database, migrated_database

pytestmark = pytest.mark.slow

DAY = 86_400_000 << 22
REQUEST, SCORE, TAG, EVALUATION = (
    f"evaluations_{name}" for name in ("evaluationrequest", "historyscore", "evaluationtag", "evaluation")
)
TABLES = (REQUEST, EVALUATION, TAG, SCORE)
AGE = """
UPDATE evaluations_evaluationrequest SET id = id - %(by)s WHERE account_id = %(account)s;
UPDATE evaluations_evaluation SET id = id - %(by)s, request_id = request_id - %(by)s WHERE account_id = %(account)s;
UPDATE evaluations_evaluationtag SET evaluation_id = evaluation_id - %(by)s, score_id = score_id - %(by)s
WHERE account_id = %(account)s;
UPDATE evaluations_historyscore SET id = id - %(by)s, source_id = source_id - %(by)s WHERE account_id = %(account)s;
"""


def rule(caller: Caller, texts: int | None = None, scores: int | None = None) -> None:
    change_retention(account=caller.account, retention_days=texts, retention_history_days=scores, actor="tests")


def evaluate(caller: Caller, n: int = 1) -> None:
    for _ in range(n):
        assert (
            caller.evaluate("exact-match", output="a", label="a", capture="all", tags={"env": "prod"}).status_code
            == 200
        )


def age(caller: Caller, days: int) -> None:
    """Let what the account has have come so many days earlier."""
    with psycopg.connect(os.environ["DATABASE_MIGRATION_URL"], autocommit=True) as owner:
        for statement in AGE.split(";")[:-1]:
            owner.execute(statement, {"by": days * DAY, "account": caller.account.pk})
    # Triggers note no change of an id: the service makes none.
    assert [n for _, n in recount_days(caller.account.pk)]


def counts(caller: Caller) -> list[int]:
    """How many requests, evaluations, tags and scores the account has."""
    with connections["system"].cursor() as cursor:
        found = []
        for table in TABLES:
            cursor.execute(f"SELECT count(*) FROM {table} WHERE account_id = %s", [caller.account.pk])
            found.append(cursor.fetchone()[0])
        return found


def n_of_interval(caller: Caller) -> int:
    """Of how many scores the interval is, as an evaluation that is not kept tells it."""
    answer = caller.evaluate(
        "exact-match", output="a", label="a", capture="none", confidence_interval_strategy="full-history"
    )
    return int(answer.json()["results"][0]["evaluation_result"]["additional_info"]["confidence_interval"]["n"])


def aged(caller: Caller, *days: int) -> None:
    """Two evaluations of each of these ages, oldest first."""
    for older, newer in zip(days, (*days[1:], 0), strict=True):
        evaluate(caller, 2)
        age(caller, older - newer)


def test_each_account_has_its_own_rule(alice: Caller, charlie: Caller) -> None:
    for caller in (alice, charlie):
        aged(caller, 40, 20)
    rule(alice, texts=30, scores=10)
    rule(charlie, texts=50)
    assert counts(alice) == counts(charlie) == [4, 4, 4, 4]

    taken = retention.retain()

    assert taken.done
    assert counts(alice) == [2, 2, 2, 0]
    assert counts(charlie) == [4, 4, 4, 4]
    assert findings(alice, charlie) == {}


def test_everything_is_kept_unless_somebody_says_otherwise(alice: Caller) -> None:
    aged(alice, 900)
    retention.retain()
    assert counts(alice) == [2, 2, 2, 2]


def test_an_account_may_keep_what_the_default_ends(alice: Caller, charlie: Caller) -> None:
    for caller in (alice, charlie):
        aged(caller, 40)
    # The default of everybody would be that of the other tests' accounts, too.
    rule(alice, texts=0, scores=0)
    rule(charlie)
    with override_settings(RETENTION_DAYS=30, RETENTION_HISTORY_DAYS=30):
        found = {one.account_id: one for one in retention.rules()}

    assert found[alice.account.pk][1:3] == (None, None)
    assert found[charlie.account.pk].evaluations == found[charlie.account.pk].scores is not None


def test_the_history_outlives_its_texts(alice: Caller) -> None:
    aged(alice, 40, 20)
    rule(alice, texts=30, scores=0)
    retention.retain()

    assert counts(alice) == [2, 2, 2, 4]
    assert n_of_interval(alice) == 4
    assert findings(alice) == {}


def test_what_retention_took_stays_right_under_another_rule(alice: Caller) -> None:
    aged(alice, 40, 20)
    rule(alice, texts=30, scores=10)
    retention.retain()
    rule(alice, texts=0, scores=0)
    retention.retain()

    assert counts(alice) == [2, 2, 2, 0]
    assert findings(alice) == {}


def test_a_score_that_nobody_pruned_is_still_missed(alice: Caller) -> None:
    rule(alice, texts=30, scores=30)
    aged(alice, 10)
    retention.retain()
    with connections["system"].cursor() as cursor:
        cursor.execute(f"DELETE FROM {SCORE} WHERE account_id = %s", [alice.account.pk])
    leftovers.spoil(alice.account.pk)

    assert findings(alice) == {"a captured success is missing from the history": 2}


def test_a_process_forgets_the_scores_that_are_gone(alice: Caller) -> None:
    aged(alice, 40, 20)
    assert n_of_interval(alice) == 4  # and this process remembers them
    rule(alice, scores=30)
    retention.retain()

    assert n_of_interval(alice) == 2


def begin_at_the_oldest(caller: Caller) -> None:
    account = caller.account.pk
    first = (
        EvaluationRequest.objects.using("system")
        .filter(account_id=account)
        .order_by("id")
        .values_list("id", flat=True)[0]
    )
    with connections["system"].cursor() as cursor:
        cursor.execute(retention.EVALUATIONS_UNTIL, {"accounts": [account], "until": first})


def test_portions_go_on_where_the_last_run_ended(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    # What other tests have left is past, or would be walked past row by row.
    retention.retain(seconds=None)
    monkeypatch.setattr(retention, "PORTION", 1)
    aged(alice, 40, 20)
    rule(alice, texts=30)
    begin_at_the_oldest(alice)
    seen = {tuple(counts(alice))}
    for _ in range(400):
        retention.retain(seconds=0)
        seen.add(tuple(counts(alice)))
        if counts(alice) == [2, 2, 2, 4]:
            break

    assert seen == {(4, 4, 4, 4), (3, 3, 3, 4), (2, 2, 2, 4)}
    assert findings(alice) == {}


def test_beat_retains() -> None:
    app.loader.import_default_modules()
    entry = app.conf.beat_schedule["retain"]

    assert entry["task"] in app.tasks
    assert entry["options"]["queue"] == "system"


# In a database of its own, all of whose accounts have rules


@pytest.fixture
def months(servers: Any) -> Iterator[tuple[Database, psycopg.Connection[Any], list[int]]]:
    """A database with partitions of all months since March 2026, and evaluations of five accounts in them."""
    with migrated_database(servers.postgres.url) as database, database.connect("owner") as owner:
        for table in TABLES:
            for (name,) in owner.execute("SELECT partition_name FROM partitions_of(%s)", [table]).fetchall():
                owner.execute(f"DROP TABLE {name}")
            owner.execute(
                "SELECT copy_table(%(default)s, '_default', %(name)s, '_until_2026_03'),"
                " attach_partition(%(table)s, %(name)s, NULL, id_at('2026-03-01Z'))",
                {"default": f"{table}_default", "name": f"{table}_until_2026_03", "table": table},
            )
        owner.execute("SELECT make_partitions()")
        accounts = new_accounts(owner)
        fill(owner, accounts, 5000, days=240)
        yield database, owner, accounts


def oldest(owner: psycopg.Connection[Any], table: str) -> float:
    """How many days old the oldest row is."""
    key = "evaluation_id" if table == TAG else "id"
    sql = f"SELECT (id_at(now()) - min({key}))::float8 / %s FROM {table}"
    return float(owner.execute(sql, [float(DAY)]).fetchone()[0])  # type: ignore[index]


def partitions(owner: psycopg.Connection[Any], table: str) -> list[tuple[Any, ...]]:
    return owner.execute("SELECT * FROM partitions_of(%s)", [table]).fetchall()


def test_whole_months_are_dropped_when_all_rules_have_passed(months: Any) -> None:
    database, owner, accounts = months
    owner.execute("UPDATE accounts_account SET retention_days = 60, retention_history_days = 100")
    owner.execute("UPDATE accounts_account SET retention_days = 90 WHERE id = %s", [accounts[0]])
    before = {table: partitions(owner, table) for table in TABLES}

    said = database.run("prune")

    for table, days in ((REQUEST, 90), (EVALUATION, 90), (TAG, 90), (SCORE, 100)):
        assert days - 5 < oldest(owner, table) <= days
        after = partitions(owner, table)
        n_gone = len(before[table]) - len(after)
        assert n_gone >= 3
        # Still open to the past, and without a gap.
        assert after[0] == (f"{table}_until_{after[1][0][-7:]}", None, after[1][1])
        assert [low for _, low, _ in after[1:]] == [high for _, _, high in after[:-1]]
        dropped = {name for name, _, _ in before[table]} - {name for name, _, _ in after}
        assert len(dropped) == n_gone + 1
    assert " 0 partitions" not in said
    for account, days in zip(accounts, (90, 60, 60, 60, 60), strict=True):
        sql = f"SELECT (id_at(now()) - min(id))::float8 / %s FROM {REQUEST} WHERE account_id = %s"
        assert days - 20 < owner.execute(sql, [float(DAY), account]).fetchone()[0] <= days
    again = database.run("prune")
    assert "0 partitions dropped" in again
    assert '"n"' not in database.run("verify", "--json")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), database.connect("app") as role:
        role.execute(f"SELECT 1 FROM {partitions(owner, SCORE)[0][0]}")


def test_nothing_is_dropped_while_one_account_keeps(months: Any) -> None:
    database, owner, accounts = months
    owner.execute("UPDATE accounts_account SET retention_days = 60 WHERE id <> %s", [accounts[4]])
    mine = f"SELECT count(*), min(id) FROM {REQUEST} WHERE account_id = %s"
    kept = owner.execute(mine, [accounts[4]]).fetchone()
    before = partitions(owner, REQUEST)

    assert "0 partitions dropped" in database.run("prune")

    assert partitions(owner, REQUEST) == before
    assert owner.execute(mine, [accounts[4]]).fetchone() == kept
    assert owner.execute(f"SELECT count(*) FROM {SCORE}").fetchone() == (5000,)
    others = f"SELECT (id_at(now()) - min(id))::float8 / %s FROM {REQUEST} WHERE account_id <> %s"
    assert owner.execute(others, [float(DAY), accounts[4]]).fetchone()[0] <= 60
    assert '"n"' not in database.run("verify", "--json")


def pause_and_kill(
    admin: psycopg.Connection[Any], holder: psycopg.Connection[Any], database: Database, of: int
) -> None:
    """Start to prune, and kill it when it waits for a row of the account."""
    waits = "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
    with holder.transaction():
        row = f"SELECT id FROM {REQUEST} WHERE account_id = %s ORDER BY id OFFSET 1800 LIMIT 1"
        holder.execute(f"SELECT 1 FROM {REQUEST} WHERE id = ({row}) FOR UPDATE", [of])
        process = database.command("prune")
        wait_until(lambda: process.poll() is not None or admin.execute(waits, [database.name]).fetchone())
        assert process.poll() is None, process.stdout and process.stdout.read()
        process.kill()
        process.communicate()
    sessions = "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND usename LIKE '%%system'"
    wait_until(lambda: not admin.execute(sessions, [database.name]).fetchone())


def test_killed_in_the_middle_it_goes_on(servers: Any, months: Any) -> None:
    database, owner, accounts = months
    owner.execute("UPDATE accounts_account SET retention_days = 60 WHERE id <> %s", [accounts[4]])
    # Nobody else is shown what another role waits for.
    with psycopg.connect(servers.postgres.url, autocommit=True) as admin, database.connect("owner") as holder:
        pause_and_kill(admin, holder, database, accounts[0])
        assert 2500 < owner.execute(f"SELECT count(*) FROM {REQUEST}").fetchone()[0] < 5000
    database.run("prune")

    others = f"SELECT (id_at(now()) - min(id))::float8 / %s FROM {REQUEST} WHERE account_id <> %s"
    assert owner.execute(others, [float(DAY), accounts[4]]).fetchone()[0] <= 60
    assert '"n"' not in database.run("verify", "--json")


def test_only_the_system_drops_and_never_what_is_young(months: Any) -> None:
    database, owner, _ = months
    drop = "SELECT drop_partitions(%s, id_at(now() + interval '1 year'))"
    with database.connect("app") as role, pytest.raises(psycopg.errors.InsufficientPrivilege):
        role.execute(drop, [SCORE])
    with database.connect("system") as system:
        with pytest.raises(psycopg.errors.RaiseException, match="no partitioned table"):
            system.execute(drop, ["accounts_account"])
        system.execute(drop, [SCORE])
    highest = [high for _, _, high in partitions(owner, SCORE)]
    (now,) = owner.execute("SELECT id_at(now())").fetchone()
    assert now < highest[1]
