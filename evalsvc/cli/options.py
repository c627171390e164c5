"""Options shared by several commands: the account to use, and the output of results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeVar

import click

from evalsvc.cli.credentials import UnreadableCredentials, find_credentials
from evalsvc.cli.report import Report, drop_controls, shorten
from evalsvc.client import Client
from evalsvc.client.errors import ClientError
from evalsvc.client.service.transport import Transport

Command = TypeVar("Command", bound=Callable[..., Any])
INCOMPLETE = 1
"""Exit code of a command that has done what it could, and says what is left."""
REFUSED = 2
"""Exit code of a command that has changed nothing: an option, a file or a key is wrong."""
RETRIES = 8


class TimeType(click.ParamType):  # type: ignore[type-arg]  # generic in its newest releases only
    """A moment in ISO 8601: a date, or a date and a time with or without seconds. UTC where no zone is given."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the moment, with its zone."""
        try:
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            # At the ends of the calendar a moment may have no date in UTC.
            return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time in ISO 8601, such as 2026-11-01 or 2026-11-01T09:30Z.", param, ctx)


TIME = TimeType()
"""What options for a moment take."""


class _Failure(click.ClickException):
    def __init__(self, message: str) -> None:
        super().__init__(drop_controls(shorten(message)))


class CommandError(_Failure):
    """Error before anything was changed; the message includes the reason and the remedy."""

    exit_code = REFUSED


class Incomplete(_Failure):
    """Error after part of the work was done; the message explains how to continue."""

    exit_code = INCOMPLETE


def target_options(command: Command) -> Command:
    """Add the options that select the account, and pass a `Transport` as `target`."""
    return _opening(command, "target", lambda url, key: Transport(url, key, retries=RETRIES), fail)


def client_options(command: Command) -> Command:
    """Add the same options, and hand a `Client` over as `client`. What the service refuses has changed nothing."""
    return _opening(command, "client", lambda url, key: Client(url, key, retries=RETRIES), fail_refused)


def account_options(command: Command) -> Command:
    """Add the options that select the account, without opening a connection."""
    profile = click.option(
        "--profile", envvar="EVALSVC_PROFILE", show_envvar=True, help="Whose address and key `login` has kept."
    )
    key = click.option("--api-key", envvar="EVALSVC_API_KEY", show_envvar=True, help="Key of the account, scope write.")
    url = click.option(
        "--url", envvar=["EVALSVC_BASE_URL", "EVALSVC_URL"], show_envvar=True, help="Address of this service."
    )
    return url(key(profile(command)))


def _opening(
    command: Command,
    name: str,
    open_account: Callable[[str, str], Transport | Client],
    end: Callable[[ClientError], NoReturn],
) -> Command:
    @account_options
    @functools.wraps(command)
    def wrapper(*args: Any, url: str | None, api_key: str | None, profile: str | None, **kwargs: Any) -> Any:
        account = open_account(*require_credentials(url, api_key, profile))
        try:
            return command(*args, **{name: account}, **kwargs)
        except ClientError as exc:
            end(exc)
        finally:
            account.close()

    return wrapper  # type: ignore[return-value]  # functools.wraps keeps the name, not the type


def require_credentials(url: str | None, api_key: str | None, profile: str | None) -> tuple[str, str]:
    """Return the address and the key of a command. Refused, with the remedy, when one of them is not known."""
    try:
        found_url, found_key = find_credentials(url, api_key, profile)
    except UnreadableCredentials as exc:
        raise CommandError(str(exc)) from exc
    if not found_url:
        raise CommandError(
            "The address of the service is not known: pass --url, set EVALSVC_URL, or run `evalsvc login`."
        )
    if not found_key:
        raise CommandError("There is no API key: pass --api-key, set EVALSVC_API_KEY, or run `evalsvc login`.")
    return found_url, found_key


def report_options(command: Command) -> Command:
    """Add `--json` and `--quiet`, and hand a `Report` over as `report`."""

    @click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
    @click.option("--quiet", is_flag=True, help="Show no progress.")
    @functools.wraps(command)
    def wrapper(*args: Any, as_json: bool, quiet: bool, **kwargs: Any) -> Any:
        return command(*args, report=Report(as_json=as_json, quiet=quiet), **kwargs)

    return wrapper  # type: ignore[return-value]  # as above


def fail(error: ClientError) -> NoReturn:
    """End a command that a service did not let go on: the sentence, the fields, and what to do."""
    unusable = error.status in (401, 403) or error.code in ("no_base_url", "bad_base_url")
    raise (CommandError if unusable else Incomplete)(str(error)) from error


def fail_refused(error: ClientError) -> NoReturn:
    """End a command of one request, or of requests that one begins: what is refused has changed nothing."""
    if error.status is not None and 400 <= error.status < 500 and error.status != 429:
        raise CommandError(_format_error(error)) from error
    raise Incomplete(_format_error(error)) from error


def _format_error(error: ClientError) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def limit_options(command: Command) -> Command:
    """Add the options for how much of a list to show, and pass them as `limit`, None for all of it."""

    @click.option("--all", "show_all", is_flag=True, help="All of them, page by page.")
    @click.option("--limit", default=20, show_default=True, type=click.IntRange(1), help="So many, the newest.")
    @functools.wraps(command)
    def wrapper(*args: Any, limit: int, show_all: bool, **kwargs: Any) -> Any:
        return command(*args, limit=None if show_all else limit, **kwargs)

    return wrapper  # type: ignore[return-value]  # as above


def drop_none(**options: object) -> dict[str, Any]:
    """Return the options that are not None; the service has defaults for the others."""
    return {name: value for name, value in options.items() if value is not None}


def read_key_values(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """Read `key=value` as often as it was given."""
    pairs = [text.partition("=") for text in texts]
    if wrong := [text for text, (key, sign, _) in zip(texts, pairs, strict=True) if not (key and sign)]:
        raise CommandError(f"{option} takes key=value, not {wrong[0]!r}.")
    return {key: value for key, _, value in pairs}


def read_mapping(texts: Sequence[str], **columns: str | Sequence[str] | None) -> dict[str, list[str]]:
    """Return the columns of each field: those of options of their own, and FIELD=COLUMN as often as it was given."""
    mapping = {field: [names] if isinstance(names, str) else [*names] for field, names in columns.items() if names}
    for text in texts:
        field, sign, column = text.partition("=")
        if not (field and sign and column):
            raise CommandError(f"--map takes FIELD=COLUMN, not {text!r}.")
        mapping.setdefault(field, []).append(column)
    return mapping
