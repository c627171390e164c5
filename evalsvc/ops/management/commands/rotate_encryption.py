"""`manage.py rotate_encryption`: encrypt every stored secret with the newest of ENCRYPTION_KEYS."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.management.base import CommandError

from evalsvc.accounts.signing_in.factors import reencrypt_factors
from evalsvc.judges.services import reencrypt_secrets
from evalsvc.ops.management.base import ServiceCommand


class Command(ServiceCommand):
    """Re-encrypt all secrets."""

    help = "Put a new key first in ENCRYPTION_KEYS, restart, run this, and remove the old ones."

    def handle(self, *args: object, **options: object) -> None:
        """Re-encrypt and print the number of secrets; fail if any is unreadable, as its key must not be removed."""
        n, unreadable = reencrypt_secrets()
        n_factors, people = reencrypt_factors()
        self.stdout.write(f"{n + n_factors} secrets encrypted with the newest key")
        failures: list[tuple[str, Sequence[object]]] = [
            ("connections or webhooks", unreadable),
            ("users, whose second factors they are", people),
        ]
        lines = [f"{whose}: {', '.join(map(str, ids))}" for whose, ids in failures if ids]
        if lines:
            raise CommandError(f"No key of ENCRYPTION_KEYS opens the secrets of these {'; of these '.join(lines)}")
