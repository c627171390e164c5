"""Options that several commands share: the account that is worked on, and how results are told."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click

from evalsvc.cli.report import Report
from evalsvc.client.errors import ClientError
from evalsvc.client.service.transport import Transport

Command = TypeVar("Command", bound=Callable[..., Any])
INCOMPLETE = 1
"""Exit code of a command that has done what it could, and says what is left."""
REFUSED = 2
"""Exit code of a command that has changed nothing: an option, a file or a key is wrong."""


class Refused(click.ClickException):
    """Nothing was done; says why, and what to do."""

    exit_code = REFUSED


class Incomplete(click.ClickException):
    """Part of it is done; says how to go on."""

    exit_code = INCOMPLETE


def target_options(command: Command) -> Command:
    """Add the options that say which account is meant, and hand a `Transport` over as `target`."""

    @click.option(
        "--url", envvar=["EVALSVC_BASE_URL", "EVALSVC_URL"], show_envvar=True, help="Address of this service."
    )
    @click.option("--api-key", envvar="EVALSVC_API_KEY", show_envvar=True, help="Key of the account, scope write.")
    @functools.wraps(command)
    def with_target(*args: Any, url: str | None, api_key: str | None, **kwargs: Any) -> Any:
        if not url:
            raise Refused("The address of the service is not known: pass --url, or set EVALSVC_URL.")
        if not api_key:
            raise Refused("There is no API key: pass --api-key, or set EVALSVC_API_KEY.")
        target = Transport(url, api_key, retries=8)
        try:
            return command(*args, target=target, **kwargs)
        except ClientError as exc:
            fail(exc)
        finally:
            target.close()

    return with_target  # type: ignore[return-value]  # functools.wraps keeps the name, not the type


def report_options(command: Command) -> Command:
    """Add `--json` and `--quiet`, and hand a `Report` over as `report`."""

    @click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
    @click.option("--quiet", is_flag=True, help="Show no progress.")
    @functools.wraps(command)
    def with_report(*args: Any, as_json: bool, quiet: bool, **kwargs: Any) -> Any:
        return command(*args, report=Report(as_json=as_json, quiet=quiet), **kwargs)

    return with_report  # type: ignore[return-value]  # as above


def fail(error: ClientError) -> NoReturn:
    """End a command that a service did not let go on: the sentence, the fields, and what to do."""
    unusable = error.status in (401, 403) or error.code in ("no_base_url", "bad_base_url")
    raise (Refused if unusable else Incomplete)(str(error)) from error
