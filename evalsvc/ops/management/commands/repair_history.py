"""`manage.py repair_history`: leave one score of each thing in every history."""

from __future__ import annotations

from django.db import connections

from evalsvc.accounts.services import forget_caches
from evalsvc.evaluations.maintenance.repair import fill, repair
from evalsvc.experiments.maintenance.trials import fill_trials
from evalsvc.ops.management.base import ServiceCommand
from evalsvc.tenancy.scope import SYSTEM


class Command(ServiceCommand):
    """Mend what `verify` finds in histories."""

    help = (
        "Let every score of a history know where it belongs, and delete those that count one evaluation or output a"
        " second time. In portions: ended in the middle, it goes on when run again. May run beside the service."
    )

    def handle(self, *args: object, **options: object) -> None:
        """Fill in, then repair."""
        connection = connections[SYSTEM]
        fill(connection)
        fill_trials(connection)
        result = repair(connection)
        for account_id in result.accounts:
            forget_caches(account_id)
        self.stdout.write(
            f"{result.n_gone} scores counted a second time are gone, {result.n_moved} have their own id now."
        )
