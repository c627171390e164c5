"""`manage.py backup DIR`: a dump of the database and a manifest by which a restore proves itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from evalsvc.ops.backup.dump import back_up, keep_secrets
from evalsvc.ops.backup.programs import BackupRefused
from evalsvc.ops.management.base import ServiceCommand


class Command(ServiceCommand):
    """Back up."""

    help = (
        "Write a backup of the database into a new folder, beside the running service, as the owner of the tables. Keys"
        " and pepper are not in it: keep them apart, for example by --secrets."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the folder, and where the secrets go."""
        parser.add_argument("directory", metavar="DIR", type=Path)
        parser.add_argument(
            "--secrets", type=Path, metavar="FILE", help="write pepper and keys into this new file (0600), outside DIR"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Back up and print a summary."""
        directory, apart = options["directory"], options["secrets"]
        if apart is not None and directory.absolute() in apart.absolute().parents:
            raise CommandError("The secrets belong apart from the backup: name a file outside of it.")
        try:
            if apart is not None:
                keep_secrets(apart)
            facts = back_up(directory)["facts"]
        except BackupRefused as exc:
            raise CommandError(str(exc)) from None
        self.stdout.write(
            f"{directory}: {sum(facts['rows'].values())} rows of {len(facts['rows'])} tables, and"
            f" {len(facts['histories'])} histories to compare after a restore."
        )
