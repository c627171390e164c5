"""Drill: kill the primary under load, promote the standby, and count what was lost.

A primary with one standby, synchronous, first without and then with PgBouncer before them.

Servers, service and load are its own, in a folder of its own: nothing that runs on this machine is touched. Exit code
0: nothing was lost, and all is as it must be; 1: something; 2: it could not be done.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from dataclasses import dataclass
from urllib.parse import quote

from deploy.drills.callers import Load
from deploy.drills.counting import first_answer, longest_call, longest_pause, losses
from deploy.drills.servers import ADDRESS, ADMINISTRATOR, DebianPgBouncer, DebianPostgres, run_as_server
from deploy.drills.stage import DATABASE, Stage, StageFailed, arguments, found_in, run, tidy_environment
from evalsvc.local.embedded.urls import DatabaseUrls, role_urls

MOST_SECONDS = 5.0
STANDBY = "standby"
SYNCHRONOUS = (
    f"SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync' AND application_name = '{STANDBY}'"
)
# The promotion: whoever takes over decides by this that the primary is dead.
ASKED_EVERY, FAILURES = 0.2, 3
N_HELD_UP = 20
WAYS = ("without PgBouncer", "with PgBouncer")


@dataclass(frozen=True)
class Pair:
    """A primary and its standby."""

    primary: DebianPostgres
    standby: DebianPostgres

    def url(self, password: str) -> str:
        """Return the administrator's URL that finds whichever of the two is the primary."""
        hosts = ",".join(f"{ADDRESS}:{server.port}" for server in (self.primary, self.standby))
        login = f"{ADMINISTRATOR}:{quote(password, safe='')}"
        return f"postgresql://{login}@{hosts}/postgres?target_session_attrs=read-write"


def drill(stage: Stage, options: argparse.Namespace) -> None:
    """Do it both ways, each with servers of its own."""
    for way in WAYS if options.only is None else [WAYS[options.only == "pgbouncer"]]:
        stage.report.step(f"{way}:")
        fail_over(stage, way, options)


def fail_over(stage: Stage, way: str, options: argparse.Namespace) -> None:
    """Kill the primary in the middle of so many evaluations, and promote the standby."""
    report, name = stage.report, way.replace(" ", "-").lower()
    pair = replicated(stage, name, is_synchronous=not options.asynchronous)
    urls = role_urls(pair.url(stage.secrets["POSTGRES_PASSWORD"]), stage.secrets, prefix=DATABASE)
    stage.make_database(pair.primary)
    key = stage.make_account(urls, "Drill")
    bouncer = bouncer_before(stage, name, pair, urls) if way == WAYS[1] else None
    more = {"EVALSVC_PGBOUNCER": "1"} if bouncer else {}
    service = stage.service(f"service-{name}", bouncer.urls if bouncer else urls, stage.redis(f"redis-{name}"), **more)
    load = Load(service.url, key, name, limit=options.evaluations)
    stage.exits.callback(load.ended.set)
    load.start()
    load.wait_for(options.evaluations // 2, report.step)
    if options.asynchronous:
        hold_up(stage, pair.primary, load)
    report.step(f"SIGKILL of the primary, {len(load.accepted)} of {options.evaluations} evaluations answered")
    killed_at = time.time()
    pair.primary.kill_hard()
    dead_at = time.time()
    promote(stage, pair, bouncer, way, killed_at)
    load.join()
    look(stage, way, load, killed_at, dead_at)
    stage.wait_for_verdicts(pair.standby)
    stage.verify(urls, f"on the new primary, {way}")
    service.stop()
    count(stage, pair.standby, load, way, options)


def replicated(stage: Stage, name: str, *, is_synchronous: bool) -> Pair:
    """Start a primary, copy it, and let each commit wait until the copy has it on its disk, unless it shall not."""
    report, password = stage.report, stage.secrets["POSTGRES_PASSWORD"]
    primary = stage.postgres(f"primary-{name}")
    primary.start()
    primary.run(f"CREATE ROLE replicator REPLICATION LOGIN PASSWORD '{password}'")
    standby = stage.postgres(f"standby-{name}", cluster_name=STANDBY)
    source = f"postgresql://replicator:{quote(password, safe='')}@{ADDRESS}:{primary.port}/postgres"
    with report.timed("base_backup", f"copying the primary (port {primary.port}) to a standby (port {standby.port})"):
        run_as_server(
            standby.programs / "pg_basebackup", "--pgdata", standby.data, "--write-recovery-conf",
            "--wal-method", "stream", "--checkpoint", "fast", "--dbname", source, home=standby.home,
        )  # fmt: skip
        standby.start()
    if not is_synchronous:
        report.step("    commits do not wait for the standby")
        return Pair(primary, standby)
    # After the copy, so that the standby does not wait for a standby when it is promoted.
    primary.run(f"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 ({STANDBY})'", "SELECT pg_reload_conf()")
    stage.wait_until(lambda: primary.value(SYNCHRONOUS), "the standby is not synchronous", 30)
    report.step("    commits wait for the standby from now on")
    return Pair(primary, standby)


def hold_up(stage: Stage, primary: DebianPostgres, load: Load) -> None:
    """Stop the process that sends WAL, as a slow line does, while some more calls are answered."""
    stage.report.step(f"holding up the stream to the standby until {N_HELD_UP} more are answered")
    os.kill(primary.value("SELECT pid FROM pg_stat_replication"), signal.SIGSTOP)
    load.wait_for(len(load.accepted) + N_HELD_UP, stage.report.step)


def bouncer_before(stage: Stage, name: str, pair: Pair, urls: DatabaseUrls) -> DebianPgBouncer:
    """Start PgBouncer before the primary."""
    bouncer = DebianPgBouncer(stage.folder / f"pgbouncer-{name}", urls=urls, server=pair.primary)
    stage.exits.callback(bouncer.stop)
    bouncer.start()
    return bouncer


def promote(stage: Stage, pair: Pair, bouncer: DebianPgBouncer | None, way: str, killed_at: float) -> None:
    """Do what a failover manager does: notice, promote, and point PgBouncer at the new primary."""
    n_failed = 0
    while n_failed < FAILURES:
        n_failed = 0 if pair.primary.is_ready() else n_failed + 1
        time.sleep(ASKED_EVERY)
    stage.report.took(f"noticed_{key_of(way)}", time.time() - killed_at)
    if pair.standby.value("SELECT pg_promote(true, 30)") is not True:
        raise StageFailed("The standby was not promoted within 30 s.")
    stage.report.took(f"promoted_{key_of(way)}", time.time() - killed_at)
    if bouncer:
        bouncer.point_at(pair.standby)
        bouncer.reload()


def look(stage: Stage, way: str, load: Load, killed_at: float, dead_at: float) -> None:
    """Look how long callers waited."""
    first = first_answer(load.accepted, killed_at=killed_at, dead_at=dead_at)
    if first is None:
        raise StageFailed("Nothing was sent after the primary was killed: take more --evaluations.")
    stage.report.took(f"first_answer_{key_of(way)}", first)
    stage.report.took(f"longest_pause_{key_of(way)}", longest_pause(load.accepted))
    stage.report.took(f"longest_call_{key_of(way)}", longest_call(load.accepted))
    name = f"the first answer came within {MOST_SECONDS:.0f} s, {way}"
    stage.report.check(name, first <= MOST_SECONDS, f"{first:.1f} s")


def count(stage: Stage, server: DebianPostgres, load: Load, way: str, options: argparse.Namespace) -> None:
    """Count what was lost: everything that was answered must be there, before the kill and after it."""
    stage.report.counts[f"answered_{key_of(way)}"] = len(load.accepted)
    stage.report.check(f"every call was answered, {way}", len(load.accepted) == options.evaluations)
    stage.lose(server, load.accepted, options.lose)
    stage.report.lost(way, losses(load.accepted, found_in(server)))


def key_of(way: str) -> str:
    """Return a way as part of a name."""
    return way.lower().replace(" ", "_")


def main(argv: list[str] | None = None) -> int:
    """Read the command line and run."""
    parser = arguments(__doc__)
    parser.add_argument("--evaluations", type=int, default=500, help="of which half are answered before (default: 500)")
    parser.add_argument("--only", choices=("direct", "pgbouncer"), help="one of the two ways (default: both)")
    parser.add_argument(
        "--asynchronous", action="store_true", help="let no commit wait for the standby, to see what that loses"
    )
    tidy_environment()
    return run("failover", drill, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
