"""The database and the broker that the service will use: embedded ones, or those the operator names."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from evalsvc.local.disk import explain_shortage
from evalsvc.local.drain import DRAIN_SECONDS_VARIABLE
from evalsvc.local.embedded.home import APPLICATION_SECRETS
from evalsvc.local.embedded.postgres import EmbeddedPostgres
from evalsvc.local.embedded.server import EmbeddedServer
from evalsvc.local.embedded.urls import DatabaseUrls, database_name, role_urls
from evalsvc.local.embedded.valkey import EmbeddedValkey
from evalsvc.local.process import Command
from evalsvc.local.supervisor.children.child import ChildSpec

# libpq reads these besides the URL; someone's shell must not redirect the service.
LIBPQ_PREFIX = "PG"
NOT_FOR_CHILDREN = (
    "POSTGRES_PASSWORD",
    "DATABASE_OWNER_PASSWORD",
    "DATABASE_APP_PASSWORD",
    "DATABASE_SYSTEM_PASSWORD",
    "DATABASE_SIGNIN_PASSWORD",
    "DATABASE_MIGRATION_URL",  # given to the migration alone
    "PROMETHEUS_MULTIPROC_DIR",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
)

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # nosec B108 - mkdtemp makes a private folder there


class BackendUnusable(Exception):
    """The database or broker named in the environment cannot be used; the message contains the remedy."""


@dataclass
class Backends:
    """Servers to run ourselves, in order, and where the service finds everything once they run."""

    home: Path
    secrets: Mapping[str, str]
    outside: Mapping[str, str]
    servers: list[EmbeddedServer] = field(default_factory=list)
    postgres: EmbeddedPostgres | None = None
    valkey: EmbeddedValkey | None = None
    metrics_dir: Path = field(init=False)

    def __post_init__(self) -> None:
        remove_old_sockets(self.home)
        if not self.outside.get("DATABASE_URL"):
            self.postgres = EmbeddedPostgres(self.home, password=self.secrets["POSTGRES_PASSWORD"])
            self.servers.append(self.postgres)
        if not self.outside.get("REDIS_URL"):
            self.valkey = EmbeddedValkey(self.home)
            self.servers.append(self.valkey)
        self.metrics_dir = make_metrics_dir(self.home)
        folders = [*(server.socket_dir for server in self.servers), self.metrics_dir]
        _sockets_file(self.home).write_text("".join(f"{folder}\n" for folder in folders))

    def specs(self) -> list[ChildSpec]:
        return [server_spec(server, stage) for stage, server in enumerate(self.servers)]

    def predict_urls(self) -> DatabaseUrls:
        """Return what `database_urls` will, before the server answers."""
        if not self.postgres and self.outside.get("DATABASE_MIGRATION_URL"):
            return outside_database(self.outside, self.secrets)
        return role_urls(self.postgres.url if self.postgres else self.outside["DATABASE_URL"], self.secrets)

    def database_urls(self) -> DatabaseUrls:
        """Make what is missing in the running database server, and return the URLs of the four roles."""
        from evalsvc.local.embedded.roles import ensure_roles

        if self.postgres:
            return ensure_roles(self.postgres.url, self.secrets, reset_passwords=True)
        return outside_database(self.outside, self.secrets)

    def broker_environment(self) -> dict[str, str]:
        if self.valkey:
            urls = {"REDIS_URL": self.valkey.redis_url, "CELERY_BROKER_URL": self.valkey.broker_url}
            return urls | _select_variables(self.outside, "CELERY_BROKER_URL")
        url = self.outside["REDIS_URL"]
        return {"REDIS_URL": url, "CELERY_BROKER_URL": self.outside.get("CELERY_BROKER_URL") or broker_url(url)}

    def remove_sockets(self) -> None:
        for server in self.servers:
            server.remove_socket_dir()
        shutil.rmtree(self.metrics_dir, ignore_errors=True)
        _sockets_file(self.home).unlink(missing_ok=True)


def server_spec(server: EmbeddedServer, stage: int) -> ChildSpec:
    def command() -> Command:
        server.prepare()
        return server.command()

    return ChildSpec(
        server.name,
        command,
        server.is_ready,
        stage,
        server.stop_signal,
        server.stop_timeout,
        max_crashes=None,
        explain_crash=lambda: explain_shortage(server.home),
    )


def make_metrics_dir(home: Path) -> Path:
    """Create an empty folder for metrics: those of an earlier run would be counted twice.

    Processes map these files into memory. On a full disk the first write to a page would end the process (SIGBUS).
    """
    if SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK):
        return Path(tempfile.mkdtemp(prefix="evalsvc-metrics-", dir=SHARED_MEMORY))
    folder = home / "run" / "metrics"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    return folder


def outside_database(environment: Mapping[str, str], passwords: Mapping[str, str]) -> DatabaseUrls:
    """The URLs on the operator's server: those given, or four roles made with the one URL given."""
    import psycopg

    from evalsvc.local.embedded.roles import ensure_roles, may_create_roles, remedy

    url = environment["DATABASE_URL"]
    owner = environment.get("DATABASE_MIGRATION_URL")
    if owner:
        system = environment.get("DATABASE_SYSTEM_URL") or url
        return DatabaseUrls(
            app=url, owner=owner, system=system, signin=environment.get("DATABASE_SIGNIN_URL") or system
        )
    database = database_name(url)
    try:
        permitted = may_create_roles(url)
    except psycopg.OperationalError as error:
        raise BackendUnusable(f"The database in DATABASE_URL does not answer: {str(error).strip()}") from error
    if not permitted:
        raise BackendUnusable(
            "DATABASE_URL is set, DATABASE_MIGRATION_URL is not, and the role in DATABASE_URL may not create roles and "
            f"databases.\n{remedy(database)}"
        )
    return ensure_roles(url, passwords)


def broker_url(redis_url: str) -> str:
    """Celery's form of a Redis URL: kombu names a unix socket otherwise than redis-py does."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    query = parts.query.replace("db=", "virtual_host=")
    return urlunsplit(("redis+socket", "", parts.path, query, "")).replace("redis+socket:/", "redis+socket:///", 1)


def child_environment(home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """What the service's own processes see: our environment without what is not theirs, and the services' addresses."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_FOR_CHILDREN and not name.startswith(LIBPQ_PREFIX)
    }
    defaults = {
        "EVALSVC_REQUIRE_HTTPS": "0",
        # No load balancer needs advance notice of a stop here: a caller sees it directly.
        DRAIN_SECONDS_VARIABLE: "0",
        "EVALSVC_ACCESS_LOG": "0",
        # An LLM server on this machine can be called: the person who starts the service owns the machine.
        "EVALSVC_OUTBOUND_ALLOW": "127.0.0.0/8,::1/128",
        # One thread per process: many processes share few cores, and numpy would start a thread for each.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # Threads would each take an arena of the allocator, and give little of it back.
        "MALLOC_ARENA_MAX": "2",
        "PYTHONUNBUFFERED": "1",
    }
    return defaults | inherited | {"EVALSVC_HOME": str(home)} | dict(extra)


def application_secrets(values: Mapping[str, str]) -> dict[str, str]:
    return {name: os.environ.get(name) or values[name] for name in APPLICATION_SECRETS}


def remove_old_sockets(home: Path) -> None:
    """Remove the socket folders of a run that was killed. Only while the home's lock is held."""
    sockets_file = _sockets_file(home)
    if not sockets_file.exists():
        return
    for line in sockets_file.read_text().splitlines():
        folder = Path(line)
        if folder.name.startswith("evalsvc-") and folder.is_dir():
            for path in folder.iterdir():
                path.unlink(missing_ok=True)
            folder.rmdir()
    sockets_file.unlink()


def _sockets_file(home: Path) -> Path:
    return home / "run" / "sockets"


def _select_variables(environment: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: environment[name] for name in names if environment.get(name)}
