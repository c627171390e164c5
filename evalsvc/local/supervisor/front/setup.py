"""Whether the service gets a front, and the address of it."""

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsvc.local.supervisor import roster
from evalsvc.local.supervisor.front.caddy import HSTS_VARIABLE, PROXIED, CaddyFront, find_caddy
from evalsvc.local.supervisor.front.caddyfile import CaddyPlan, list_hosts
from evalsvc.local.supervisor.supervisor import ServiceFailed

FIRST_HTTPS_PORT = 8443
DEFAULT_HOSTS = "localhost,127.0.0.1,[::1]"  # as the settings have them
LOOPBACK = "127.0.0.1"
ON = ("1", "true", "yes", "on")


@dataclass(frozen=True)
class FrontOptions:
    """Options of the HTTPS front."""

    host: str
    port: int | None
    """The port that was named; None for the first free one from 8443 on."""


def refuse_unreachable(environment: Mapping[str, str], *, has_front: bool) -> None:
    """Raise ServiceFailed where https is required and nothing would take it: no call could ever be answered."""
    is_required = environment.get("EVALSVC_REQUIRE_HTTPS", "").strip().lower() in ON
    is_proxied = environment.get("EVALSVC_BEHIND_PROXY", "").strip().lower() in ON
    if is_required and not is_proxied and not has_front:
        raise ServiceFailed(
            "EVALSVC_REQUIRE_HTTPS is on, and nothing here takes https. Start with `make up HTTPS=1`, or set "
            "EVALSVC_BEHIND_PROXY=1 where a proxy of yours ends TLS."
        )


def open_front(
    options: FrontOptions,
    *,
    home: Path,
    web: str,
    otlp: str | None,
    resources: contextlib.ExitStack,
    write: Callable[[str], None],
) -> CaddyFront:
    """Take the port of https, which `resources` gives back. Raises ServiceFailed and OSError with a sentence."""
    program = find_caddy()
    if program is None:
        raise ServiceFailed(
            "https needs Caddy, which this environment has not. Install requirements/https.txt into it (or "
            "pip install 'evalsvc[https]'), or let make use its own (without EVALSVC_VENV)."
        )
    if options.port is not None:
        listener = roster.listen_on_port(options.host, options.port)
    else:
        listener = roster.listen_on_free_port(options.host, FIRST_HTTPS_PORT)
    resources.enter_context(listener)
    if options.port is None and (port := listener.getsockname()[1]) != FIRST_HTTPS_PORT:
        write(f"  port {FIRST_HTTPS_PORT} is taken, using {port} for https")
    address = roster.reachable(options.host)
    names = list_hosts(os.environ.get("EVALSVC_ALLOWED_HOSTS") or DEFAULT_HOSTS, address)
    return CaddyFront(
        program,
        home / "caddy",
        listener,
        address,
        lambda at, storage: CaddyPlan(at, names, storage, web, otlp),
    )


def build_proxied_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of a service behind the front."""
    return PROXIED | {HSTS_VARIABLE: environment.get(HSTS_VARIABLE) or "0"}
