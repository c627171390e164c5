"""Drill: back up under load, destroy everything, restore, and count what was lost.

Servers, service and load are its own, in a folder of its own: nothing that runs on this machine is touched. Exit code
0: nothing was lost, and all is as it must be; 1: something; 2: it could not be done.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.stub_llm import running_stub
from deploy.drills import experiment, histories
from deploy.drills.callers import Load
from deploy.drills.counting import losses
from deploy.drills.servers import DebianPostgres, free_port, through
from deploy.drills.service import Service, environment, manage
from deploy.drills.stage import DATABASE, Stage, arguments, destroy, found_in, run, tidy_environment
from evalsvc.local.embedded.home import read_env_file
from evalsvc.local.embedded.urls import DatabaseUrls

# Seconds that callers pause while the backup is made: one that takes all of this machine would be of something else.
CALM = 0.2
ROLES = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'evalsvc%'"
DATABASES = "SELECT count(*) FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1')"


@dataclass
class Before:
    """What there was: a backup, the secrets apart from it, what callers hold in their hands."""

    backup: Path
    apart: Path
    key: str
    load: Load
    experiment: experiment.Experiment
    n_queries: int
    histories: list[bytes]
    began_at: float
    manifest: dict[str, Any]


def drill(stage: Stage, options: argparse.Namespace) -> None:
    """Do all of it. The stand-in for a language model has the same address before and after, as a real one has."""
    port = free_port()
    with running_stub(latency_ms=experiment.SLOW_MS, port=port) as stub:
        before = back_up_and_destroy(stage, options, stub.base_url)
    with running_stub(latency_ms=experiment.FAST_MS, port=port):
        server = stage.postgres("postgres-new")
        server.start()
        stage.report.step(
            f"a new PostgreSQL {stage.programs.parent.name}, on another port ({server.port}), with nothing on it"
        )
        urls = stage.urls_at(server)
        refuse_wrong_pepper(stage, server, urls, before)
        restore(stage, server, urls, before)
        go_on(stage, urls, before)
        stage.wait_for_verdicts(server)
        stage.verify(urls, "after the experiment's end")
    stage.lose(server, [call for call in before.load.accepted if call.answered_at < before.began_at], options.lose)
    found = losses(before.load.accepted, found_in(server), answered_before=before.began_at)
    stage.report.lost("of what was answered before the backup began; what came later may be in it or not", found)


def back_up_and_destroy(stage: Stage, options: argparse.Namespace, model: str) -> Before:
    """Load a service, back it up meanwhile, and kill it with its data."""
    report = stage.report
    server = stage.postgres("postgres-old")
    server.start()
    urls = stage.make_database(server)
    key = stage.make_account(urls, "Drill")
    redis = stage.redis("redis-old")
    service = stage.service("service-old", urls, redis)
    histories.keep(service, key)
    load = Load(service.url, key, "restore")
    with report.timed("load", f"loading {options.evaluations} evaluations, a quarter of them for workers"):
        load.start()
        stage.exits.callback(load.ended.set)
        load.wait_for(options.evaluations, report.step)
    load.pause = CALM
    running = experiment.start(service, key, model, options.examples)
    running.wait_for(service, 1)
    backup, apart = stage.folder / "backup", stage.folder / "apart" / "secrets.env"
    apart.parent.mkdir(mode=0o700)
    n_before, began_at = len(load.accepted), time.time()
    with report.timed("backup", "backing up under load, secrets apart"):
        manage(stage.command_env(urls), "backup", backup, "--secrets", apart)
    n_after = len(load.accepted)
    report.counts |= {"answered_before_backup": n_before, "answered_during_backup": n_after - n_before}
    view = running.view(service)
    shown = histories.answers(service, key)
    report.step(
        "destroying everything: SIGKILL of web, workers, clock, Redis and PostgreSQL, and their folders removed"
    )
    for victim in (server, redis, service):
        victim.kill_hard()
    load.end()
    destroy(server.home, redis.home, service.home)
    report.counts["answered"] = len(load.accepted)
    manifest = json.loads((backup / "manifest.json").read_bytes())
    return Before(backup, apart, key, load, running, int(view["n_queries"]), shown, began_at, manifest)


def refuse_wrong_pepper(stage: Stage, server: DebianPostgres, urls: DatabaseUrls, before: Before) -> None:
    """Try it with another pepper first: one sentence, and nothing is written."""
    stage.report.step("restoring with a wrong KEY_PEPPER first")
    wrong = read_env_file(before.apart) | {"KEY_PEPPER": "another pepper, which no key was made with"}
    env = environment(stage.folder / "commands", urls, wrong, DATABASE_ADMIN_URL=server.url)
    done = manage(env, "restore", before.backup, check=False)
    said = done.stdout.strip()
    is_told = done.returncode == 1 and "no API key would match" in said and "Traceback" not in said
    stage.report.check("a wrong pepper is refused with a sentence", is_told, said)
    stage.report.step(f"    it says: {said}")
    left = (server.value(ROLES), server.value(DATABASES))
    stage.report.check("nothing was written by the refused one", left == (0, 0), f"roles, databases: {left}")


def restore(stage: Stage, server: DebianPostgres, urls: DatabaseUrls, before: Before) -> None:
    """Restore with the secrets that were kept apart, and look at what `restore` and `verify` cannot see alone."""
    report = stage.report
    env = environment(stage.folder / "commands", urls, read_env_file(before.apart), DATABASE_ADMIN_URL=server.url)
    with report.timed("restore", "restoring with the secrets that were kept apart"):
        said = manage(env, "restore", before.backup).stdout
    report.check("restore finds no difference", "all is as it was, and `verify` finds nothing wrong" in said, said)
    stage.verify(urls, "after the restore")
    known = before.manifest["facts"]["histories"]
    same = histories.digests(server, DATABASE)
    report.check("20 histories are the manifest's to the byte", len(known) == 20 and same == known)
    server.run("CREATE ROLE stranger LOGIN PASSWORD 'stranger'")
    report.check("PUBLIC cannot connect", not may_connect(urls.app, server.port))


def may_connect(url: str, port: int) -> bool:
    """Say whether a role that has no rights gets into the database."""
    address = through(url, port).rpartition("@")[2]
    try:
        psycopg.connect(f"postgresql://stranger:stranger@{address}", connect_timeout=5).close()
    except psycopg.OperationalError as exc:
        if "permission denied for database" in str(exc):
            return False
        raise
    return True


def go_on(stage: Stage, urls: DatabaseUrls, before: Before) -> None:
    """Start the service on it, with an empty Redis."""
    report = stage.report
    service = stage.service("service-new", urls, stage.redis("redis-new"))
    who = service.call(before.key, "GET", "/v1/whoami")
    report.check("the API key works", who.status_code == 200, who.text)
    shown = histories.answers(service, before.key)
    report.check("20 histories are answered as before to the byte", len(shown) == 20 and shown == before.histories)
    report.check("a new evaluation is answered", evaluates(service, before.key))
    n = int(before.experiment.view(service)["n_queries"])
    report.step(
        f"    the experiment had {before.n_queries} of {before.experiment.n_all} queries; in the backup it has {n}"
    )
    report.check("it was backed up while it ran", 0 < n < before.experiment.n_all, f"{n} queries")
    before.experiment.finish(service, report)


def evaluates(service: Service, key: str) -> bool:
    """Have one text judged."""
    body = {"evaluators": [{"evaluator": "pii"}], "evaluated_model_output": "After the restore.", "app": "drill"}
    answer = service.call(key, "POST", "/v1/evaluate", body)
    return answer.status_code == 200 and answer.json()["results"][0]["status"] == "success"


def main(argv: list[str] | None = None) -> int:
    """Read the command line and run."""
    parser = arguments(__doc__)
    parser.add_argument("--evaluations", type=int, default=2000, help="before the backup begins (default: 2000)")
    parser.add_argument("--examples", type=int, default=400, help="of the experiment (default: 400)")
    tidy_environment()
    return run("restore", drill, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
