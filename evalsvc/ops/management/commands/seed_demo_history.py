"""`manage.py seed_demo_history`: two weeks of made-up evaluations, in an account that nobody can write to."""

from __future__ import annotations

from django.core.management.base import BaseCommand

from evalsvc.ops.demo_history import NAME, seed_demo_history


class Command(BaseCommand):
    """Make the account, or leave it as it is."""

    help = f'Fill the account "{NAME}" for the demo\'s member to look at; `delete_account "{NAME}"` takes it away.'

    def handle(self, *args: object, **options: object) -> None:
        """Make it, and say so."""
        n = seed_demo_history()
        self.stdout.write(f"{NAME}: {n} scores of two weeks." if n else f"{NAME} is there, or the demo is not.")
