"""Twenty histories, as the API answers them and as the backup's manifest knows them."""

from __future__ import annotations

from deploy.drills.servers import DebianPostgres
from deploy.drills.service import Service
from evalsvc.ops.backup.facts import N_HISTORIES, read_facts

FEWEST = 20


def keep(service: Service, key: str) -> None:
    """Keep scores of twenty evaluators that nobody adds to later, of different lengths."""
    rows = [
        {"evaluator_id": f"judge-{which}", "criteria": "all", "score_raw": (7 * n % 11) / 11, "pass": n % 2 == 0}
        for which in range(N_HISTORIES)
        for n in range(FEWEST + which)
    ]
    for start in range(0, len(rows), 100):
        part = {"evaluation_results": rows[start : start + 100]}
        service.answer(key, "POST", "/v1/evaluation-results/batch", part)


def answers(service: Service, key: str) -> list[bytes]:
    """Return what the API answers of them, byte by byte."""
    paths = (f"/v1/history?evaluator=external:judge-{which}&profile=all&limit=1000" for which in range(N_HISTORIES))
    found = [service.call(key, "GET", path) for path in paths]
    return [answer.content for answer in found if answer.status_code == 200]


def digests(server: DebianPostgres, database: str) -> dict[str, str]:
    """Return length and SHA-256 of the twenty longest histories, by all their columns."""
    with server.connect(database) as connection, connection.transaction():
        return dict(read_facts(connection)["histories"])
