"""The database before the service may use it: its roles, its tables, and the demo's accounts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from evalsvc.local.embedded.urls import DatabaseUrls
from evalsvc.local.supervisor import roster
from evalsvc.local.supervisor.aside import run_in_child
from evalsvc.local.supervisor.backends import Backends
from evalsvc.local.supervisor.demo import accounts
from evalsvc.local.supervisor.progress import StartProgress
from evalsvc.local.supervisor.schema import Unknowable, is_migrated, note_migrated, schema_digest
from evalsvc.local.supervisor.supervisor import Supervisor


@dataclass(frozen=True)
class Preparation:
    """What a start makes of the database, unless an earlier one has: Django's start alone costs seconds."""

    checkout: Path
    home: Path
    has_demo: bool
    backends: Backends
    supervisor: Supervisor
    progress: StartProgress

    def run(self, urls: DatabaseUrls, env: Mapping[str, str]) -> dict[str, str]:
        """Migrate and create the demo accounts; return their keys, empty if no demo is requested."""
        digest = self._digest(urls)
        with self.progress.step("database roles checked"):
            values: dict[str, str] | None = run_in_child(lambda: self._load_existing_values(urls, digest))
        if values is not None:
            return values
        with self.progress.step("database migrated" + (", demo account" if self.has_demo else "")):
            flags = ["--prepare"] if self.has_demo else ["--prepare", "--no-demo"]
            command = roster.manage("up", *flags, checkout=self.checkout, env=env)
            output = self.supervisor.run_step("migrate", command)
            if digest:
                run_in_child(lambda: note_migrated(urls.owner, digest))
        return {str(name): str(value) for name, value in json.loads(output).items()}

    def _digest(self, urls: DatabaseUrls) -> str | None:
        # With the names of the roles, as a migration gives these their rights.
        names = [urlsplit(url).username for url in (urls.app, urls.system, urls.signin)]
        try:
            return f"{schema_digest(self.checkout)} for {names}"
        except Unknowable:
            return None

    def _load_existing_values(self, urls: DatabaseUrls, digest: str | None) -> dict[str, str] | None:
        """Make the roles; return the keys of the demo's accounts if nothing else is to be made, else None."""
        self.backends.database_urls()
        return self._demo_values(urls) if digest and is_migrated(urls.owner, digest) else None

    def _demo_values(self, urls: DatabaseUrls) -> dict[str, str] | None:
        """Return the keys of the demo accounts, empty if no demo is requested; None if they must be created."""
        if not self.has_demo:
            return {}
        values = accounts.load_demo_values(self.home / "demo.json")
        return values if values and accounts.is_seeded(urls.system, values) else None
