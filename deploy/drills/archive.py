"""pgbackrest by pgbackrest.conf beside this file: base backups, the archive of WAL, and restores to a moment."""

from __future__ import annotations

import configparser
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from deploy.drills.servers import HERE, DebianPostgres, own, program, run_as_server

STANZA = "evalsvc"


@dataclass(frozen=True)
class Archive:
    """A repository on this machine's disk, for one server."""

    home: Path

    @property
    def configuration(self) -> Path:
        """Where its settings are."""
        return self.home / "pgbackrest.conf"

    @property
    def server_settings(self) -> dict[str, str]:
        """Return what the server must be told, so that it archives."""
        push = f"pgbackrest --config={self.configuration} --stanza={STANZA} archive-push %p"
        return {"archive_mode": "on", "archive_command": push, "archive_timeout": "60"}

    def begin(self, server: DebianPostgres) -> None:
        """Make the repository of a server that runs."""
        own(self.home)
        file = configparser.ConfigParser(interpolation=None)
        file.read(HERE / "pgbackrest.conf")
        file["global"]["repo1-path"] = str(own(self.home / "repository"))
        file["global"]["lock-path"] = file["global"]["spool-path"] = str(own(self.home / "run"))
        mine = {"pg1-path": server.data, "pg1-port": server.port, "pg1-socket-path": server.socket_dir}
        file[STANZA].update({name: str(value) for name, value in mine.items()})
        with self.configuration.open("w") as stream:
            file.write(stream)
        self.configuration.chmod(0o644)
        self.run("stanza-create")
        self.end_segment()

    def end_segment(self) -> None:
        """Let the server end its segment of WAL, and wait until that is in the repository."""
        self.run("check")

    def run(self, command: str, *options: str) -> str:
        """Run a command of pgbackrest."""
        named = program("pgbackrest", package="pgbackrest")
        done = run_as_server(
            named, f"--config={self.configuration}", f"--stanza={STANZA}", *options, command, home=self.home
        )
        return done.stdout

    def restore(self, target: DebianPostgres, moment: float) -> None:
        """Put the last base backup before a moment into another server's folder, to roll forward to that moment."""
        own(target.data)
        self.run(
            "restore", f"--pg1-path={target.data}", "--type=time", f"--target={written(moment)}",
            "--target-action=promote", "--archive-mode=off",
        )  # fmt: skip


def written(moment: float) -> str:
    """Write a moment as PostgreSQL reads it, to the second."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S}+00"
