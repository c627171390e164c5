"""`manage.py` of an installation that came the long way: through the migrations that squashed ones replace.

`python -m tests.growth.by_steps migrate --database owner evaluations 0016_computing`
"""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management import execute_from_command_line
from django.db.migrations import executor, loader
from django.db.migrations.loader import MigrationLoader


class SteppedLoader(MigrationLoader):
    """A loader to which squashed migrations do not exist: by them, a step in between is no target any more."""

    def load_disk(self) -> None:
        """Read the migrations, without those that replace others."""
        super().load_disk()
        steps: dict[tuple[str, str], Any] = self.disk_migrations
        self.disk_migrations = {key: step for key, step in steps.items() if not step.replaces}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    for module in (executor, loader):
        setattr(module, MigrationLoader.__name__, SteppedLoader)
    execute_from_command_line(["manage.py", *sys.argv[1:]])
