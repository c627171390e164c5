"""`manage.py delete_account NAME_OR_ID`: end an account and delete everything that is its own."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from redis.exceptions import RedisError

from evalsvc.accounts.models import Account
from evalsvc.ops.account_tables import count
from evalsvc.ops.deletion.accounts import GRACE_SECONDS, WAITING, delete_account, delete_remains
from evalsvc.ops.deletion.scrubber import scrub, what_stays
from evalsvc.ops.management.base import ServiceCommand
from evalsvc.tenancy.scope import SYSTEM

# What people call the tables; the others by their own name.
WORDS = {
    "evaluations_evaluation": "captured evaluations, with their texts and tags",
    "evaluations_historyscore": "scores of histories",
    "accounts_apikey": "API keys",
    "accounts_member": "memberships",
    "accounts_invitation": "invitations",
    "accounts_auditentry": "entries of the audit trail",
    "telemetry_span": "spans",
    "telemetry_logrecord": "log records",
    "judges_connection": "connections, with their secrets",
}
STAYS = (
    "Not deleted: people, who belong to no account (switch them off in the admin); backups, archives and PostgreSQL's"
    " log until they end; the service's log; and a line that an account of this id was deleted, and when."
)
NO_REDIS = (
    "Redis, where keys of the account are to be deleted too, does not answer ({}). The account is closed, and what was"
    " deleted is gone: run this again when Redis is back, and it goes on from there."
)
LEFT = "Not written anew: {}. Deleted rows may still be in these files: run `manage.py delete_account --scrub` again."


class Command(ServiceCommand):
    """Delete an account."""

    help = (
        "End an account: its keys at once, then its work, then all its rows by portions, and itself; then write the"
        " tables anew, so that no file holds what it had. Ended in the middle, run it again. May run beside the"
        " service, which waits for each table. Without --yes it shows what would go, and asks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the account, and whether that is meant."""
        parser.add_argument("account", metavar="NAME_OR_ID", nargs="?")
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument(
            "--grace",
            type=float,
            default=GRACE_SECONDS,
            metavar="SECONDS",
            help=f"how long calls that were let in before may take (default {GRACE_SECONDS:g}; 0 when nothing runs)",
        )
        parser.add_argument(
            "--remains",
            action="store_true",
            help="NAME_OR_ID is the id of an account that is gone: delete what it left",
        )

        parser.add_argument(
            "--scrub", action="store_true", help="delete no account: only write anew what may still hold deleted rows"
        )
        parser.add_argument(
            "--no-scrub", action="store_true", help="leave the files as they are; --scrub makes up for it later"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Show what would be deleted, confirm, delete, and rewrite the files."""
        name_or_id = options["account"]
        if (name_or_id is None) != options["scrub"]:
            raise CommandError("Say which account to delete, or only --scrub.")
        if name_or_id is not None:
            self._delete(name_or_id, options)
        if not options["no_scrub"]:
            self._scrub()

    def _delete(self, said: str, options: dict[str, Any]) -> None:
        if options["remains"]:
            account_id, account = _id_of_gone(said), None
        else:
            account = find(said)
            account_id = account.pk
        if not options["yes"]:
            self._show(account_id, said if account is None else f"{account.name!r} ({account_id})")
            self._ask(said if account is None else account.name)
        counts = self._deleted(account, account_id, options["grace"])
        for what, n in counts.items():
            if n:
                self.stdout.write(f"{n} {WORDS.get(what, what)}")
        self.stdout.write(f"Account {account_id} is gone. {STAYS}")

    def _deleted(self, account: Account | None, account_id: int, grace_seconds: float) -> Counter[str]:
        progress = Progress(self)
        try:
            if account is None:
                return delete_remains(account_id, tell=progress.tell)
            return delete_account(account, actor="operator", tell=progress.tell, grace_seconds=grace_seconds)
        except RedisError as exc:
            raise CommandError(NO_REDIS.format(type(exc).__name__)) from None
        finally:
            progress.end()

    def _scrub(self) -> None:
        progress = Progress(self)
        result = scrub(tell=progress.tell)
        progress.end()
        self.stdout.write(f"{result.tables} tables and Redis' append-only file are written anew. Still holding it are:")
        for line in what_stays(timezone.now()):
            self.stdout.write(line)
        if not result.is_whole:
            raise CommandError(LEFT.format("; ".join([*result.left, result.aof] if result.aof else result.left)))

    def _show(self, account_id: int, name: str) -> None:
        self.stdout.write(f"Of account {name} would be deleted:")
        for table, n in count(account_id).items():
            self.stdout.write(f"{'many' if n is None else n:>12} {WORDS.get(table, table)}")
        self.stdout.write("and whatever of its requests is not captured, its keys in Redis, and the account itself.")
        self.stdout.write(STAYS)

    def _ask(self, name: str) -> None:
        if not sys.stdin.isatty():
            raise CommandError("Nothing was deleted. Say --yes to delete it.")
        if input(f"Type {name} to delete all of it for good: ") != name:
            raise CommandError("Nothing was deleted.")


def find(said: str) -> Account:
    """Return the account of that name or id."""
    accounts = Account.objects.using(SYSTEM)
    matches = list(accounts.filter(name=said))
    if said.isdecimal() and int(said) < 2**63:
        matches += [account for account in accounts.filter(pk=int(said)) if account not in matches]
    if len(matches) > 1:
        raise CommandError(
            f"{said} is the name of account {matches[0].pk} and the id of {matches[1].name!r}: rename one."
        )
    if not matches:
        raise CommandError(f"There is no account {said!r}; the admin's list of accounts shows names and ids.")
    return matches[0]


def _id_of_gone(said: str) -> int:
    if not said.isdecimal():
        raise CommandError("An account that is gone has no name: say its id.")
    if Account.objects.using(SYSTEM).filter(pk=int(said)).exists():
        raise CommandError(f"Account {said} is there: delete it without --remains.")
    return int(said)


class Progress:
    """One line of progress on a terminal; silent if stderr is not a terminal."""

    def __init__(self, command: Command) -> None:
        self.out = command.stderr
        self.is_shown = sys.stderr.isatty()
        self.last = 0.0

    def tell(self, what: str, n: int) -> None:
        """Print the total deleted so far, at most ten times a second."""
        if self.is_shown and (now := time.monotonic()) - self.last > 0.1:
            self.last = now
            word = "waiting for calls that are under way, seconds:" if what == WAITING else WORDS.get(what, what)
            self.out.write(f"\r\x1b[K{word} {n}", style_func=str, ending="")

    def end(self) -> None:
        """Leave an empty line."""
        if self.is_shown:
            self.out.write("\r\x1b[K", style_func=str, ending="")
