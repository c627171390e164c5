"""`manage.py up` and `evalsvc up`, implemented without Django: the supervisor would use 100 MB more with it."""

import os
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evalsvc.local.drain import MalformedDrain
from evalsvc.local.embedded.home import is_checkout
from evalsvc.local.embedded.server import ServerFailed
from evalsvc.local.supervisor.front.caddyfile import UnfitName
from evalsvc.local.supervisor.lock import AlreadyRunning
from evalsvc.local.supervisor.run import StartOptions, run_service
from evalsvc.local.supervisor.supervisor import ServiceFailed

CHECKOUT = Path(__file__).resolve().parents[3]
"""Or the folder in which the package is installed."""
HELP = (
    "Start the whole service here and stay in the foreground: PostgreSQL and Valkey (unless DATABASE_URL "
    "and REDIS_URL name others), migrations, a demo account, web, workers and clock. Ctrl-C stops all of it."
)
EXPECTED = (ServiceFailed, ServerFailed, MalformedDrain, UnfitName, OSError)


def add_arguments(parser: ArgumentParser) -> None:
    host = os.environ.get("EVALSVC_HOST") or "127.0.0.1"
    port = os.environ.get("EVALSVC_PORT") or None
    parser.add_argument("--host", default=host, help="address to listen on (EVALSVC_HOST; default 127.0.0.1)")
    parser.add_argument(
        "--port",
        default=port,
        type=int,
        help="port to listen on, 0 for any (EVALSVC_PORT; without it the first free one from 8000 on)",
    )
    otlp = os.environ.get("EVALSVC_OTLP_GRPC_PORT") or "4317"
    parser.add_argument(
        "--otlp-grpc-port",
        default=otlp,
        type=port_or_off,
        help="first port to try for OTLP over gRPC, 0 for any, or `off` (EVALSVC_OTLP_GRPC_PORT; default 4317)",
    )
    parser.add_argument("--https", action="store_true", help="let Caddy end TLS before the service (extra `https`)")
    parser.add_argument(
        "--https-port",
        default=os.environ.get("EVALSVC_HTTPS_PORT") or None,
        type=int,
        help="port of https, 0 for any (EVALSVC_HTTPS_PORT; without it the first free one from 8443 on)",
    )
    parser.add_argument("--no-demo", action="store_true", help="no demo account and no first evaluation")
    parser.add_argument("--demo-env", type=Path, metavar="FOLDER", help="write demo.env there (default: .evalsvc)")
    parser.add_argument("--prepare", action="store_true", help=SUPPRESS)


def port_or_off(text: str) -> int | None:
    return None if text == "off" else int(text)


def build_options(given: Mapping[str, Any]) -> StartOptions:
    """Read what the parser has found."""
    return StartOptions(
        CHECKOUT,
        given["host"],
        given["port"],
        not given["no_demo"],
        given["otlp_grpc_port"],
        given["https"],
        given["https_port"],
        given["demo_env"],
    )


def run_until_stopped(options: StartOptions, write: Callable[[str], None]) -> str | None:
    """Run the service until it is stopped; return an error message if it failed."""
    try:
        run_service(options, write)
    except AlreadyRunning as running:
        write(str(running))
    except EXPECTED as error:
        return str(error)
    return None


def run_command(arguments: list[str]) -> None:
    parser = ArgumentParser(prog="manage.py up" if is_checkout(CHECKOUT) else "evalsvc up", description=HELP)
    add_arguments(parser)
    sys.exit(run_until_stopped(build_options(vars(parser.parse_args(arguments))), _write))


def _write(line: str) -> None:
    print(line, flush=True)
