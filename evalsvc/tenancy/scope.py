"""The database role and the account in force. Row-level security backs every `account=` filter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta

from django.db import connections, transaction
from django.db.models import BigIntegerField, Func, Model

APP, OWNER, SYSTEM, SIGNIN = "default", "owner", "system", "signin"
SIGNIN_APPS = ("account", "mfa", "sessions", "socialaccount", "usersessions")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_role: ContextVar[str] = ContextVar("database_role", default=APP)
_account: ContextVar[tuple[str, int] | None] = ContextVar("database_account", default=None)


class NextId(Func):
    """The database's own id: milliseconds since 2026-01-01 << 22 | sequence, so that ids sort by time."""

    function = "next_id"
    arity = 0
    output_field = BigIntegerField()


def id_at(moment: datetime, *, back_seconds: int = 0) -> int:
    """Return the lowest id that the database could have given at a moment."""
    milliseconds = int((moment - EPOCH).total_seconds() * 1000) - back_seconds * 1000
    return max(0, milliseconds) << 22


def moment_at(id: int) -> datetime:
    """Return the moment at which the database gave an id, to the millisecond."""
    return EPOCH + timedelta(milliseconds=id >> 22)


class RoleRouter:
    """Send the ORM to the role in force, or for people and sessions to the one for sign-in; only the owner migrates."""

    def db_for_read(self, model: type[Model], **hints: object) -> str:
        """Return the alias of the role in force for this table."""
        return signin_role() if is_of_signin(model) else current_role()

    def db_for_write(self, model: type[Model], **hints: object) -> str:
        """Return the alias of the role in force for this table."""
        return signin_role() if is_of_signin(model) else current_role()

    def allow_relation(self, obj1: object, obj2: object, **hints: object) -> bool:
        """Return True: all roles use one database, so any two rows can be related."""
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: object) -> bool:
        """Migrations run as the owner."""
        return db == OWNER


def current_role() -> str:
    """Return the alias of the database role in force."""
    return _role.get()


def is_of_signin(model: type[Model]) -> bool:
    """Return whether a table holds people, factors or sessions, which the application's role may not use."""
    return model._meta.app_label in SIGNIN_APPS or model._meta.label_lower == "accounts.user"


def signin_role() -> str:
    """Return the alias for people and sessions: the operator's and the owner's scopes keep their own connection."""
    return SIGNIN if current_role() == APP else current_role()


def release(alias: str) -> None:
    """Give a connection back to its pool, unless a transaction is open, so that a page does not hold two throughout."""
    if not connections[alias].in_atomic_block:
        connections[alias].close()


def current_account() -> int:
    """Return the account id of the current scope. Raises LookupError outside of any scope."""
    if (account_id := _account.get()) is None:
        raise LookupError("no account's scope")
    return account_id[1]


@contextmanager
def role_scope(alias: str) -> Iterator[None]:
    """Let the ORM use another role: `system` for the operator's admin and the sweep, `owner` for set-up."""
    token = _role.set(alias)
    try:
        yield
    finally:
        _role.reset(token)


@contextmanager
def account_scope(
    account_id: int, *, one_snapshot: bool = False, statement_timeout: str | None = None
) -> Iterator[None]:
    """Run a transaction in which the database shows this account's rows only.

    The setting ends with the transaction, so a pooled connection never carries it to the next request. A scope inside
    another restores the outer account. With `one_snapshot` all reads see one snapshot, and writes are refused; a scope
    inside another ignores it. No statement of the transaction may take longer than `statement_timeout`, "15s" for one.
    """
    alias, outer = current_role(), _account.get()
    token = _account.set((alias, account_id))
    try:
        with transaction.atomic(using=alias):
            if one_snapshot and outer is None:
                with connections[alias].cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            _set_account(alias, account_id, statement_timeout)
            yield
            # Not after an exception: rolling back to the savepoint restores the setting.
            if outer is not None and outer != (alias, account_id) and outer[0] == alias:
                _set_account(*outer)
    finally:
        _account.reset(token)


def _set_account(alias: str, account_id: int, statement_timeout: str | None = None) -> None:
    statement, values = "SELECT set_config('app.account_id', %s, true)", [str(account_id)]
    if statement_timeout is not None:
        statement, values = f"{statement}, set_config('statement_timeout', %s, true)", [*values, statement_timeout]
    with connections[alias].cursor() as cursor:
        cursor.execute(statement, values)
