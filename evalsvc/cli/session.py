"""`evalsvc login` and `evalsvc logout`: store an address and a key for the other commands."""

from __future__ import annotations

import sys

import click

from evalsvc.cli.credentials import (
    DEFAULT_PROFILE,
    Credentials,
    UnreadableCredentials,
    credentials_path,
    read_profiles,
    write_profiles,
)
from evalsvc.cli.options import CommandError, fail_refused, report_options
from evalsvc.cli.report import Report
from evalsvc.client import Client
from evalsvc.client.errors import ClientError

PROFILE_HELP = "Name to keep it under; other commands take it, too."


@click.command("login", epilog="Example: evalsvc login --url http://localhost:8000")
@click.option("--url", envvar=["EVALSVC_BASE_URL", "EVALSVC_URL"], show_envvar=True, help="Address of the service.")
@click.option("--api-key", envvar="EVALSVC_API_KEY", show_envvar=True, help="The key; better typed when asked.")
@click.option("--profile", envvar="EVALSVC_PROFILE", default=DEFAULT_PROFILE, show_default=True, help=PROFILE_HELP)
@report_options
def login(url: str | None, api_key: str | None, profile: str, report: Report) -> None:
    """Keep an address and a key.

    They are tried first, then kept in a file that only you can read, $XDG_CONFIG_HOME/evalsvc/credentials.json. What
    is not given is asked for; without a terminal, the key is read from the first line of standard input. The options
    --url and --api-key and the environment win over what is kept.
    """
    address = url or click.prompt("Address of the service", err=True)
    key = api_key or _prompt_key()
    if not key:
        raise CommandError("There is no key: type it, pass --api-key, or set EVALSVC_API_KEY.")
    try:
        with Client(address, key) as client:
            caller = client.whoami()
        path = write_profiles(_load_profiles() | {profile: Credentials(address, key)})
    except ClientError as exc:
        fail_refused(exc)
    facts = {"profile": profile, "url": address, "file": str(path), "caller": caller}
    report.finish(facts, [f"Profile {profile} opens {address}; it is kept in {path}."])


@click.command("logout", epilog="Example: evalsvc logout --profile staging")
@click.option("--profile", envvar="EVALSVC_PROFILE", default=DEFAULT_PROFILE, show_default=True, help="Which one.")
@report_options
def logout(profile: str, report: Report) -> None:
    """Forget the address and the key of a profile. The key itself stays valid: revoke it in the service."""
    profiles = _load_profiles()
    if profile not in profiles:
        raise CommandError(
            f"There is no profile {profile!r} in {credentials_path()}. There are: {', '.join(profiles) or 'none'}."
        )
    write_profiles({name: credentials for name, credentials in profiles.items() if name != profile})
    report.finish({"profile": profile, "forgotten": True}, [f"Profile {profile} is forgotten."])


def _prompt_key() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("API key", hide_input=True, err=True)).strip()
    return sys.stdin.readline().strip()


def _load_profiles() -> dict[str, Credentials]:
    try:
        return read_profiles()
    except UnreadableCredentials as exc:
        raise CommandError(str(exc)) from exc
