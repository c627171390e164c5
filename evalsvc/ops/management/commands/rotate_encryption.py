"""`manage.py rotate_encryption`: encrypt every stored secret with the newest of ENCRYPTION_KEYS."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError

from evalsvc.judges.services import reencrypt_secrets


class Command(BaseCommand):
    """Encrypt anew."""

    help = "Put a new key first in ENCRYPTION_KEYS, restart, run this, and remove the old ones."

    def handle(self, *args: object, **options: object) -> None:
        """Encrypt anew and say how many; fail when some cannot be read, as their keys must not be removed."""
        n, unreadable = reencrypt_secrets()
        self.stdout.write(f"{n} secrets encrypted with the newest key")
        if unreadable:
            ids = ", ".join(map(str, unreadable))
            raise CommandError(f"No key of ENCRYPTION_KEYS opens the secrets of these connections or webhooks: {ids}")
