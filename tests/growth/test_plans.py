"""Plans are made once a session, maybe while a month has no rows yet: they must be right for the month that is full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.growth_rows import fill, new_accounts
from evalsvc.rules.worker import DUE, REVISIT_HOURS
from tests.growth.databases import Database, migrated_database

N_ROWS = 20_000
PAIR = ("evaluator-0", "profile-0")
KEPT = {"status": "success", "score": 1.0, "passed": True, "captured": True, "in_history": True, "lane": "inline"}
SUCCESS = {"status": "success", "score": 1.0, "passed": True}
READ = """
SELECT sum(seq_tup_read)::int, (SELECT sum(idx_tup_read)::int FROM pg_stat_user_indexes WHERE relname LIKE 'evaluations%')
FROM pg_stat_user_tables WHERE relname LIKE 'evaluations%'
"""


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    from tests import services

    with migrated_database(services.servers.postgres.url) as made:
        yield made


class Session:
    """The statements of a request's life, over connections that stay open, as processes have them."""

    def __init__(self, database: Database, account: int) -> None:
        self.app, self.system = database.connect("app"), database.connect("system")
        self.owner = database.connect("owner")
        self.account = account
        self.snapshot: str | None = None

    def close(self) -> None:
        for connection in (self.app, self.system, self.owner):
            connection.close()

    def row(self, **columns: Any) -> dict[str, Any]:
        base = {"position": 0, "evaluator_id": PAIR[0], "runs": PAIR[0], "family": "x", "profile_name": PAIR[1]}
        base |= {"profile_id": "00000000-0000-4000-9000-000000000001", "profile_revision": 1, "in_history": False}
        return base | {"explain_strategy": "never", "status": "pending"} | columns

    def capture(self, *rows: dict[str, Any], tags: dict[str, str] | None = None) -> int:
        request = {"capture": "all", "strategy": "none", "fingerprint": 1, "output": "Paris", "app": "x", "tags": tags}
        capture = {"account": self.account, "request": request, "evaluations": rows, "lease_seconds": 60}
        ids, (self.snapshot,) = self.app.execute(
            "SELECT request_ids, snapshots FROM capture_requests(%s::jsonb, %s::bigint[], %s::text[], %s::text[], %s::text[])",
            [json.dumps([capture]), [self.account], [PAIR[0]], [PAIR[1]], [self.snapshot]],
        ).fetchone()
        return int(ids[0])

    def finish(self, claimed: list[tuple[Any, ...]]) -> None:
        self.app.execute(
            "SELECT * FROM read_judging(%s::bigint[], %s::bigint[])",
            [[self.account] * len(claimed), [c[0] for c in claimed]],
        )
        verdicts = [{"position": c[3], **SUCCESS} for c in claimed]
        item = {"account": self.account, "request": claimed[0][2], "verdicts": verdicts}
        self.app.execute("SELECT * FROM finish_judging(%s::jsonb)", [json.dumps([item])])

    def work(self) -> None:
        """Keep a finished evaluation, and let others go through both lanes and be asked for."""
        request = self.capture(self.row(**KEPT), tags={"env": "prod"})
        for claim, lane in (
            ("claim_cpu_lane(16, 30, '{}')", "cpu"),
            ("claim_judging(16, 16, false, 30, '{}', '{}', '{}', gen_random_uuid())", "judge"),
        ):
            request = self.capture(self.row(lane=lane), self.row(lane=lane, position=1))
            claimed = self.system.execute(f"SELECT id, account_id, request_id, position FROM {claim}").fetchall()
            assert [row[2] for row in claimed] == [request] * 2
            self.finish(claimed)
        stored = self.app.execute("SELECT * FROM stored_evaluations(%s, %s)", [self.account, request]).fetchall()
        assert len(stored) == 2

    def rows_read(self) -> tuple[int, int]:
        for connection in (self.app, self.system):
            connection.execute("SELECT pg_stat_force_next_flush()")
        return self.owner.execute(READ).fetchone()  # type: ignore[return-value]


def test_what_was_planned_for_an_empty_month_reads_by_index_when_it_is_full(database: Database) -> None:
    with database.connect("owner") as owner:
        accounts = new_accounts(owner)
    session = Session(database, accounts[0])
    try:
        for _ in range(2):
            session.work()
        with database.connect("owner") as owner:
            fill(owner, accounts, N_ROWS, days=0.5)
        session.work()
        before = session.rows_read()
        for _ in range(5):
            session.work()
        after = session.rows_read()
    finally:
        session.close()

    by_sequence, by_index = (then - now for now, then in zip(before, after, strict=True))
    assert by_sequence == 0
    assert by_index < 5 * 200


def test_rules_without_news_are_found_by_index(database: Database) -> None:
    with database.connect("owner") as owner:
        accounts = new_accounts(owner)
        fill(owner, accounts, N_ROWS, days=0.5)
        owner.execute("ANALYZE evaluations_evaluationrequest")
    with database.connect("system") as system:
        for name in "abcde":
            system.execute(
                "INSERT INTO rules_rule (account_id, name, state, revision, source, filter, mapping, evaluators, rate,"
                " sample_by, tags, watermark, marks, n_scored, n_over_cap, n_no_output, n_unreadable, n_invalid)"
                " VALUES (%s, %s, 'active', 1, 'evaluations', '{}', '{}', '[]', 1, 'trace', '{}', (%s::bigint) << 22,"
                " '[]', 0, 0, 0, 0, 0)",
                [accounts[0], name, 10**12],
            )
        assert system.execute(DUE, [REVISIT_HOURS]).fetchall() == []
        (plan,) = system.execute(f"EXPLAIN (FORMAT JSON) {DUE}", [REVISIT_HOURS]).fetchone()
        system.execute("UPDATE rules_rule SET watermark = 0 WHERE name = 'a'")
        due = system.execute(DUE, [REVISIT_HOURS]).fetchall()
    waiting, nodes = [plan[0]["Plan"]], list[dict[str, Any]]()
    while waiting:
        nodes.append(node := waiting.pop())
        waiting += node.get("Plans", [])
    requests = [node for node in nodes if node.get("Relation Name", "").startswith("evaluations_evaluationrequest")]

    assert {node["Node Type"] for node in requests} == {"Index Only Scan"}
    assert [account for account, _ in due] == accounts[:1]
