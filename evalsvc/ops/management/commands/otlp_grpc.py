"""`manage.py otlp_grpc`: take spans and logs over gRPC."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsvc.ops.at_start import refuse_foreign_functions


class Command(BaseCommand):
    help = "Take spans and logs over gRPC (OTLP) until SIGTERM. `make up` runs it; elsewhere run one beside the web."
    # Checks would import every URL of the service, which this process does not serve.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        host = os.environ.get("EVALSVC_HOST") or "127.0.0.1"
        port = os.environ.get("EVALSVC_OTLP_GRPC_PORT") or "4317"
        parser.add_argument("--host", default=host, help="address to listen on (EVALSVC_HOST; default 127.0.0.1)")
        parser.add_argument(
            "--port", default=port, type=int, help="port, 0 for any (EVALSVC_OTLP_GRPC_PORT; default 4317)"
        )
        parser.add_argument("--ready-file", type=Path, help="file to write the port to once exports are taken")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            from evalsvc.telemetry.receiver.server import serve
        except ImportError as error:
            raise CommandError(f"gRPC is not installed ({error}): pip install 'evalsvc[server,grpc]'.") from None
        refuse_foreign_functions()
        try:
            serve(options["host"], options["port"], ready=options["ready_file"])
        except OSError as error:
            raise CommandError(str(error)) from None
