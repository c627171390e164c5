"""Drill: go back to a second. Somebody deletes an account; the database comes back as it was a second before.

A base backup and the archive of WAL are pgbackrest's. Servers, service and load are its own, in a folder of its own:
nothing that runs on this machine is touched. Exit code 0: nothing was lost, and all is as it must be; 1: something; 2:
it could not be done.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass

from deploy.drills.archive import Archive, written
from deploy.drills.callers import Load
from deploy.drills.counting import losses
from deploy.drills.servers import DebianPostgres
from deploy.drills.service import Service, manage
from deploy.drills.stage import DATABASE, Stage, arguments, found_in, run, tidy_environment

KEPT, DELETED = "Acme", "Mistake"
IN_RECOVERY = "SELECT pg_is_in_recovery()"
N_ROWS = """
SELECT count(*) FROM evaluations_evaluationrequest r JOIN accounts_account a ON a.id = r.account_id
WHERE a.name = '{name}'"""


@dataclass
class Before:
    """What there was: two accounts, their callers, and the second that is gone back to."""

    archive: Archive
    keys: dict[str, str]
    loads: dict[str, Load]
    moment: float


def drill(stage: Stage, options: argparse.Namespace) -> None:
    """Do all of it."""
    before = have_an_accident(stage, options)
    server = stage.postgres("postgres-new")
    with stage.report.timed("restore", f"restoring into a new folder, to {written(before.moment)}"):
        before.archive.restore(server, before.moment)
    with stage.report.timed("replay", f"rolling forward on another port ({server.port})"):
        server.start(timeout=600)
        stage.wait_until(lambda: server.value(IN_RECOVERY) is False, "WAL is replayed", 600)
    urls = stage.urls_at(server)
    stage.verify(urls, "after the restore")
    service = stage.service("service-new", urls, stage.redis("redis-new"))
    look(stage, server, service, before)
    stage.wait_for_verdicts(server)
    stage.verify(urls, "after the workers have gone on")
    count(stage, server, before, options.lose)


def have_an_accident(stage: Stage, options: argparse.Namespace) -> Before:
    """Archive a server under load, choose a second, and delete an account after it."""
    report = stage.report
    archive = Archive(stage.folder / "archive")
    server = stage.postgres("postgres-old", **archive.server_settings)
    server.start()
    archive.begin(server)
    urls = stage.make_database(server)
    keys = {name: stage.make_account(urls, name) for name in (KEPT, DELETED)}
    service = stage.service("service-old", urls, stage.redis("redis-old"))
    loads = {name: Load(service.url, key, name.lower(), pause=0.05) for name, key in keys.items()}
    for load in loads.values():
        stage.exits.callback(load.ended.set)
        load.start()
    with report.timed("base_backup", "making a base backup under load"):
        archive.run("backup", "--type=full")
    for load in loads.values():
        load.wait_for(len(load.accepted) + options.evaluations // 2, report.step)
    moment = until_next_second()
    report.step(f"the second to go back to: {written(moment)}; both accounts go on for another one")
    time.sleep(1)
    loads[DELETED].end()
    delete_by_mistake(stage, server, service)
    loads[KEPT].end()
    service.stop()
    with report.timed("last_segment", "waiting until the last WAL is archived"):
        archive.end_segment()
    server.stop()
    return Before(archive, keys, loads, moment)


def until_next_second() -> float:
    """Wait for the next full second that is at least a tenth away; return it."""
    moment = float(math.ceil(time.time() + 0.1))
    time.sleep(max(0.0, moment - time.time()))
    return moment


def delete_by_mistake(stage: Stage, server: DebianPostgres, service: Service) -> None:
    """Delete an account, as an operator does who means another one."""
    with stage.report.timed("mistake", f"deleting the account {DELETED}, while {KEPT} goes on"):
        manage(service.env, "delete_account", DELETED, "--yes", "--grace", "0", "--no-scrub")
    n = server.value(N_ROWS.format(name=DELETED), database=DATABASE)
    stage.report.check("the account is gone from the old database", n == 0, f"{n} rows")


def look(stage: Stage, server: DebianPostgres, service: Service, before: Before) -> None:
    """Look whether both accounts are there again."""
    for name, key in before.keys.items():
        who = service.call(key, "GET", "/v1/whoami")
        stage.report.check(f"the API key of {name} works", who.status_code == 200, who.text)
    n = server.value(N_ROWS.format(name=DELETED), database=DATABASE)
    stage.report.step(f"    {DELETED} has {n} requests again")
    stage.report.counts["requests_of_the_deleted_account"] = n


def count(stage: Stage, server: DebianPostgres, before: Before, n_to_lose: int) -> None:
    """Count what was lost of each account."""
    for name, load in before.loads.items():
        expected = [call for call in load.accepted if call.answered_at < before.moment]
        stage.report.counts[f"answered_{name.lower()}"] = len(load.accepted)
        stage.lose(server, expected, n_to_lose if name == DELETED else 0)
        found = losses(load.accepted, found_in(server), answered_before=before.moment, sent_after=before.moment)
        what = f"{name}: answered before {written(before.moment)}; nothing that was sent later may be there"
        stage.report.lost(what, found)


def main(argv: list[str] | None = None) -> int:
    """Read the command line and run."""
    parser = arguments(__doc__)
    parser.add_argument("--evaluations", type=int, default=1000, help="between base backup and second (default: 1000)")
    tidy_environment()
    return run("point-in-time", drill, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
