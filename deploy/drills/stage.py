"""What all drills share: a folder, servers in it that end with the drill, accounts, and the rows that are counted."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from deploy.drills import servers
from deploy.drills.callers import CallRefused
from deploy.drills.counting import Accepted, Found
from deploy.drills.report import Report
from deploy.drills.servers import DebianPostgres, DebianRedis, ProgramMissing
from deploy.drills.service import CommandFailed, Service, environment, manage
from evalsvc.local.embedded.home import APPLICATION_SECRETS, load_secrets
from evalsvc.local.embedded.server import ServerFailed
from evalsvc.local.embedded.urls import DatabaseUrls, role_urls

DATABASE = "evalsvc"
REFUSED = 2
N_PENDING = "SELECT count(*) FROM evaluations_evaluation WHERE status = 'pending'"
# What the callers' labels have become, and how often each of their verdicts counts.
REQUESTS = """
SELECT dataset_sample_id, array_agg(id ORDER BY id) FROM evaluations_evaluationrequest
WHERE dataset_sample_id IS NOT NULL GROUP BY 1"""
SCORES = """
SELECT e.id, count(h.id) FROM evaluations_evaluation e
LEFT JOIN evaluations_historyscore h ON h.source = 'evaluation' AND h.source_id = e.id AND h.account_id = e.account_id
WHERE e.status = 'success' AND e.evaluation_type = 'patronus_evaluation' GROUP BY 1"""


class StageFailed(Exception):
    """The drill cannot go on; the message says why."""


@dataclass
class Stage:
    """The folder of a drill, and all that runs in it."""

    folder: Path
    report: Report
    exits: contextlib.ExitStack
    secrets: dict[str, str] = field(init=False)
    programs: Path = field(default_factory=servers.postgres_programs)

    def __post_init__(self) -> None:
        self.secrets = load_secrets(self.folder)

    @property
    def application_secrets(self) -> dict[str, str]:
        """Return those that a service is told."""
        return {name: self.secrets[name] for name in APPLICATION_SECRETS}

    def postgres(self, name: str, **settings: str) -> DebianPostgres:
        """Return a server that is not started; it ends with the drill."""
        password = self.secrets["POSTGRES_PASSWORD"]
        server = DebianPostgres(self.folder / name, self.programs, password=password, settings=settings)
        self.exits.callback(server.stop)
        return server

    def redis(self, name: str) -> DebianRedis:
        """Start an empty Redis or Valkey."""
        home = self.folder / name
        home.mkdir(mode=0o700)
        server = DebianRedis(home)
        self.exits.callback(server.remove_socket_dir)
        self.exits.callback(server.stop)
        server.start()
        return server

    def service(self, name: str, urls: DatabaseUrls, redis: DebianRedis, **more: str) -> Service:
        """Start the product's roles."""
        home = self.folder / name
        made = Service(home, environment(home, urls, self.application_secrets, redis, **more))
        self.exits.callback(made.stop)
        with self.report.timed(f"start_of_{name}", "starting web, workers and clock, each a program of its own"):
            made.start()
        return made

    def urls_at(self, server: DebianPostgres) -> DatabaseUrls:
        """Return where the roles sign in."""
        return role_urls(server.url, self.secrets, prefix=DATABASE)

    def command_env(self, urls: DatabaseUrls, **more: str) -> dict[str, str]:
        """Return what a command of the product is told, other secrets or an administrator's URL among it."""
        return environment(self.folder / "commands", urls, self.application_secrets, **more)

    def make_database(self, server: DebianPostgres) -> DatabaseUrls:
        """Make roles, database and tables with `bootstrap`."""
        urls = self.urls_at(server)
        with self.report.timed("bootstrap", "making roles, database and tables"):
            manage(self.command_env(urls, DATABASE_ADMIN_URL=server.url), "bootstrap")
        return urls

    def make_account(self, urls: DatabaseUrls, name: str) -> str:
        """Make an account; return its key."""
        printed = manage(self.command_env(urls), "create_account", name).stdout
        return dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)["EVALSVC_API_KEY"]

    def verify(self, urls: DatabaseUrls, when: str) -> None:
        """Let the product recount all of it."""
        done = manage(self.command_env(urls), "verify", check=False)
        self.report.check(f"verify is clean {when}", done.returncode == 0, done.stdout[-1500:])

    def wait_for_verdicts(self, server: DebianPostgres, *, seconds: float = 180) -> None:
        """Wait until no evaluation is pending."""
        with self.report.timed("pending_done", "waiting until workers have done what is pending"):
            self.wait_until(lambda: server.value(N_PENDING, database=DATABASE) == 0, "evaluations are pending", seconds)

    def wait_until(self, is_so: Callable[[], bool], what_is: str, seconds: float) -> None:
        """Wait until something is true. Raises StageFailed, saying what is not."""
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                raise StageFailed(f"After {seconds:.0f} s {what_is} still.")
            time.sleep(0.1)

    def lose(self, server: DebianPostgres, calls: Iterable[Accepted], n: int) -> None:
        """Delete the last rows that callers rely on, to see that the drill counts them."""
        for call in list(calls)[-n:] if n else ():
            self.report.step(f"    deleting {call.label} behind the drill's back")
            server.run(f"DELETE FROM evaluations_evaluationrequest WHERE id = {call.request_id}", database=DATABASE)


def found_in(server: DebianPostgres) -> Found:
    """Read what the database holds of the callers' calls, as its administrator, who sees all rows."""
    with server.connect(DATABASE) as connection:
        requests = {label: tuple(ids) for label, ids in connection.execute(REQUESTS).fetchall()}
        return Found(requests, dict(connection.execute(SCORES).fetchall()))


def destroy(*homes: Path) -> None:
    """Remove data folders, as a disk that is gone."""
    for home in homes:
        shutil.rmtree(home)


def arguments(text: str | None) -> argparse.ArgumentParser:
    """Return the options of all drills."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the summary into this file, for a program")
    parser.add_argument("--folder", type=Path, help="a new folder for all data (default: in /var/tmp)")
    parser.add_argument("--keep", action="store_true", help="leave the folder, with logs, when it ends")
    parser.add_argument(
        "--lose", type=int, default=0, metavar="N", help="delete N rows before counting, to see that it is noticed"
    )
    return parser


@contextlib.contextmanager
def new_folder(options: argparse.Namespace) -> Iterator[Path]:
    """Make the folder, which the servers' user must be able to enter."""
    folder = options.folder or Path(tempfile.mkdtemp(prefix="evalsvc-drill-", dir="/var/tmp"))
    folder.mkdir(parents=True, exist_ok=options.folder is None)
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def run(drill: str, act: Callable[[Stage, argparse.Namespace], None], options: argparse.Namespace) -> int:
    """Run a drill from its folder to its exit code: 0 nothing lost, 1 something is wrong, 2 it could not be done."""
    report = Report(drill, sys.stdout)
    try:
        with new_folder(options) as folder, contextlib.ExitStack() as exits:
            report.step(f"all of it is in {folder}{'' if options.keep else ', which goes at the end'}")
            act(Stage(folder, report, exits), options)
            report.step("stopping what was started")
    except KeyboardInterrupt:
        print("Stopped; nothing is left.", file=sys.stderr)
        return 130
    except (
        CallRefused, CommandFailed, ProgramMissing, ServerFailed, StageFailed, TimeoutError, RuntimeError,
        subprocess.SubprocessError,
    ) as exc:  # fmt: skip
        print(f"{drill}: {exc}", file=sys.stderr)
        return REFUSED
    return report.close(options.json)


def tidy_environment() -> None:
    """Keep this shell's own PostgreSQL settings out of the connections that the drill makes."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        del os.environ[name]
