"""`manage.py drain`: let a proxy leave the web processes of this machine, before they are stopped."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError

from evalsvc.local.drain import MalformedDrain
from evalsvc.ops.serving.drain import request_drain


class Command(BaseCommand):
    """Begin to drain."""

    help = (
        "Tell gunicorn of this machine to drain: /readyz answers 503, whoever waits for workers is answered `pending`, "
        "and all else is served until the process is stopped. A new start forgets it."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: object, **options: object) -> None:
        """Leave the file for which the web processes look."""
        try:
            request_drain()
        except MalformedDrain as exc:
            raise CommandError(str(exc)) from None
        except OSError as exc:
            raise CommandError(f"{exc.filename}: {exc.strerror}. EVALSVC_DRAIN_FILE names another file.") from None
        self.stdout.write("Draining: /readyz answers 503 within a second. Stop the service when the proxy has left.")
