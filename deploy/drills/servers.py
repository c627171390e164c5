"""Debian's own PostgreSQL, PgBouncer and Redis or Valkey, in folders and on ports of their own."""

from __future__ import annotations

import configparser
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import psycopg

from evalsvc.local.embedded.binaries import as_user
from evalsvc.local.embedded.home import running_as_root
from evalsvc.local.embedded.server import EmbeddedServer
from evalsvc.local.embedded.urls import DatabaseUrls
from evalsvc.local.embedded.valkey import EmbeddedValkey
from evalsvc.local.process import Command
from evalsvc.local.supervisor.roster import listen_on_free_port

HERE = Path(__file__).resolve().parent
ADMINISTRATOR = "postgres"
ADDRESS = "127.0.0.1"


class ProgramMissing(Exception):
    """A program that the drill needs is not on this machine; the message says which package has it."""


def program(*names: str, package: str) -> str:
    """Return the first of these programs that there is. Raises ProgramMissing."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise ProgramMissing(f"{' or '.join(names)} is not on the PATH. On Debian: apt-get install {package}")


def postgres_programs(root: Path = Path("/usr/lib/postgresql")) -> Path:
    """Return the folder of the newest PostgreSQL of Debian's packages. Raises ProgramMissing."""
    found = [path for path in root.glob("*/bin") if (path / "postgres").exists() and path.parent.name.isdigit()]
    if not found:
        raise ProgramMissing(f"No PostgreSQL is in {root}. On Debian: apt-get install postgresql")
    return max(found, key=lambda path: int(path.parent.name))


def server_user() -> str | None:
    """Return whom the servers run as: PostgreSQL and PgBouncer refuse root, pgbackrest needs the same user."""
    return "postgres" if running_as_root() else None


def free_port() -> int:
    """Return a port that nobody has at the moment."""
    with listen_on_free_port(ADDRESS, 0) as listener:
        return int(listener.getsockname()[1])


def own(path: Path) -> Path:
    """Make a folder of the servers' user, closed to others."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if user := server_user():
        shutil.chown(path, user, user)
    return path


def environment(home: Path) -> dict[str, str]:
    """Return what a server's program is told: nothing of ours."""
    return {"LC_ALL": "C.UTF-8", "PATH": os.defpath, "HOME": str(home)}


def run_as_server(*command: str | Path, home: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a program as the servers' user; its last lines are in the error where it fails."""
    done = subprocess.run(
        [str(part) for part in command], cwd=home, env=environment(home), capture_output=True, text=True, check=False,
        **as_user(server_user()),
    )  # fmt: skip
    if check and done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    return done


class DebianPostgres(EmbeddedServer):
    """A cluster of its own in `home`, at a free port of this machine."""

    name = "postgres"
    socket_name = "postgres"
    stop_signal = signal.SIGINT

    def __init__(self, home: Path, programs: Path, *, password: str, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(own(home), socket_dir=own(home / "run"))
        self.programs, self.password, self.port = programs, password, free_port()
        self.settings = dict(settings or {})
        self.data = home / "data"

    @property
    def url(self) -> str:
        """The administrator's URL."""
        login = f"{ADMINISTRATOR}:{quote(self.password, safe='')}"
        return f"postgresql://{login}@{ADDRESS}:{self.port}/postgres"

    def prepare(self) -> None:
        """Make a cluster, unless a copy of another one is there."""
        if self.data.exists():
            return
        secret = self.home / "password"
        secret.write_text(self.password)
        secret.chmod(0o644)  # the folder is closed
        run_as_server(
            self.programs / "initdb", "--pgdata", self.data, "--username", ADMINISTRATOR, "--pwfile", secret,
            "--auth-local", "trust", "--auth-host", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8",
            home=self.home,
        )  # fmt: skip
        secret.unlink()

    def command(self) -> Command:
        """Run it in the foreground, durable as in production."""
        settings = {
            "port": str(self.port),
            "listen_addresses": ADDRESS,
            "unix_socket_directories": str(self.socket_dir),
            "timezone": "UTC",
            "log_timezone": "UTC",
            "max_connections": "200",
            **self.settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        argv = [str(self.programs / "postgres"), "-D", str(self.data), *options]
        return Command(argv, environment(self.home), user=server_user(), cwd=self.home, death_signal=signal.SIGQUIT)

    def is_ready(self) -> bool:
        """Ask it something; a standby answers, too."""
        with contextlib.suppress(psycopg.OperationalError):
            return self.value("SELECT true") is True
        return False

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """Connect as the administrator."""
        return psycopg.connect(self.url, dbname=database, autocommit=True, connect_timeout=2)

    def value(self, query: str, *, database: str = "postgres") -> Any:
        """Ask as the administrator for one value."""
        with self.connect(database) as connection:
            row = connection.execute(query.encode()).fetchone()
        return row[0] if row else None

    def run(self, *statements: str, database: str = "postgres") -> None:
        """Do something as the administrator, each statement in a transaction of its own."""
        with self.connect(database) as connection:
            for statement in statements:
                connection.execute(statement.encode())


class DebianRedis(EmbeddedValkey):
    """Redis or Valkey as Debian packs it, at a private unix socket."""

    def _program(self) -> str:
        return program("valkey-server", "redis-server", package="valkey-server (Debian 13) or redis-server (Debian 12)")


class DebianPgBouncer(EmbeddedServer):
    """PgBouncer by pgbouncer.ini beside this file, in front of one server at a time."""

    name = "pgbouncer"
    socket_name = "pgbouncer"
    stop_signal = signal.SIGINT

    def __init__(self, home: Path, *, urls: DatabaseUrls, server: DebianPostgres) -> None:
        super().__init__(own(home), socket_dir=own(home / "run"))
        self.port, self.direct = free_port(), urls
        self.settings, self.users = home / "pgbouncer.ini", home / "userlist.txt"
        self.point_at(server)

    @property
    def urls(self) -> DatabaseUrls:
        """Where web and workers sign in; migrations need a session of their own, so the owner goes past it."""
        app, system, signin = (through(url, self.port) for url in self.pooled)
        return DatabaseUrls(app=app, owner=self.direct.owner, system=system, signin=signin)

    @property
    def pooled(self) -> tuple[str, str, str]:
        """The URLs whose connections go through it."""
        return self.direct.app, self.direct.system, self.direct.signin

    def point_at(self, server: DebianPostgres) -> None:
        """Write where the database is. A PgBouncer that runs reads it at its next reload."""
        file = configparser.ConfigParser(interpolation=None)
        file.read(HERE / "pgbouncer.ini")
        file["databases"]["evalsvc"] = f"host={ADDRESS} port={server.port} dbname=evalsvc"
        mine = {"listen_port": str(self.port), "auth_file": str(self.users), "listen_addr": ADDRESS}
        file["pgbouncer"].update(mine)
        with self.settings.open("w") as stream:
            file.write(stream)

    def reload(self) -> None:
        """Let it read its settings again; callers keep their connections to it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGHUP)

    def prepare(self) -> None:
        """Write down who may sign in."""
        logins = (urlsplit(url).netloc.rpartition("@")[0].partition(":") for url in self.pooled)
        self.users.write_text("".join(f'"{unquote(name)}" "{unquote(password)}"\n' for name, _, password in logins))
        for path in (self.users, self.settings):
            path.chmod(0o640)
            if user := server_user():
                shutil.chown(path, "root", user)

    def command(self) -> Command:
        """Run it in the foreground."""
        argv = [program("pgbouncer", package="pgbouncer"), str(self.settings)]
        return Command(argv, environment(self.home), user=server_user(), cwd=self.home, death_signal=signal.SIGKILL)

    def is_ready(self) -> bool:
        """Ask the database through it."""
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.urls.app, connect_timeout=2):
            return True
        return False


def through(url: str, port: int) -> str:
    """Return a URL with another server in it: ours at this port."""
    parts = urlsplit(url)
    login = parts.netloc.rpartition("@")[0]
    return urlunsplit(parts._replace(netloc=f"{login}@{ADDRESS}:{port}", query=""))
