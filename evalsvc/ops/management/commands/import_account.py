"""`manage.py import_account FILE`: bring in an account that was exported from another server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from evalsvc.ops.management.base import ServiceCommand
from evalsvc.ops.management.commands.delete_account import WORDS
from evalsvc.ops.moving.arrival import AccountImport, import_account
from evalsvc.ops.moving.file import ImportRefused
from evalsvc.rest.problems import Problem

TOLD_EVERY = 1000
SAID = WORDS | {"judges_connection": "connections, without their secrets"}


class Command(ServiceCommand):
    """Bring in an account."""

    help = (
        "Bring in an account from the file of `evalsvc export account`, made on another server: all of it or nothing."
        " It is recounted, switched on, and its first key printed. May run beside the service."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the file, and another name."""
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument("--name", metavar="NAME", help="what the account is called here (default: as it was)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the account and print what was imported and what remains to be done."""
        progress = _Progress(self)
        try:
            arrived = import_account(options["file"], name=options["name"], tell=progress.tell)
        except ImportRefused as exc:
            raise CommandError(str(exc)) from None
        except Problem as exc:
            raise CommandError(f"{exc.detail} Nothing was written.") from None
        finally:
            progress.end()
        for table, n in arrived.counts.items():
            if n and table != "accounts_account":
                self.stdout.write(f"{n:>12} {SAID.get(table, table)}")
        self._end(arrived)

    def _end(self, arrived: AccountImport) -> None:
        account = arrived.account
        if arrived.findings:
            wrong = [f"{finding.what}: {finding.n}, for example {finding.examples}" for finding in arrived.findings]
            raise CommandError(
                "\n".join([f"Account {account.pk} is here and stays off: `verify` finds something wrong.", *wrong])
            )
        self.stdout.write(f"Account {account.pk}, {account.name!r}, is here: as many rows as in the file, recounted.")
        for sentence in remarks(arrived):
            self.stdout.write(sentence)
        self.stdout.write(f"EVALSVC_API_KEY={arrived.key}")


def remarks(arrived: AccountImport) -> Iterator[str]:
    """Yield what did not come along, or is at rest, and what to do about it."""
    needs = {what: [plain(value) for value in values] for what, values in arrived.needs.items()}
    yield "Keys of the old server do not work here. Make new ones; the first is below."
    if names := needs.get("connections"):
        yield f"Connections without their key, switched off: {', '.join(names)}. Send `key` and `is_enabled` to each."
    if ids := needs.get("event_endpoints"):
        yield f"Event endpoints, switched off: {', '.join(ids)}. Rotate the secret of each, then switch it on."
    if needs.get("webhook_secret"):
        yield "Webhook requests are not signed before POST /v1/webhook-secret/rotate."
    if configs := needs.get("paused_configs"):
        yield f"{len(configs)} configs of experiments ran, and are stopped: resume those that should go on."
    if requests := needs.get("left_out_requests"):
        yield f"{len(requests)} evaluate requests were under way, and were left out: send them again."
    if arrived.new_people:
        yield f"Members without a password, set in the admin: {', '.join(arrived.new_people)}."


def plain(text: object) -> str:
    """Return a text of the file's for a terminal, which it must not steer."""
    return "".join(char if char.isprintable() else "?" for char in str(text))


class _Progress:
    """One line of progress on a terminal; silent if stderr is not a terminal."""

    def __init__(self, command: Command) -> None:
        self.out, self.is_shown = command.stderr, sys.stderr.isatty()
        self.what, self.n, self.said = "", 0, 0

    def tell(self, what: str, n: int) -> None:
        self.n = n + (self.n if what == self.what else 0)
        if self.is_shown and (what != self.what or self.n - self.said >= TOLD_EVERY):
            self.said = self.n
            self.out.write(f"\r\x1b[K{what} {self.n}", style_func=str, ending="")
        self.what = what

    def end(self) -> None:
        if self.is_shown:
            self.out.write("\r\x1b[K", style_func=str, ending="")
