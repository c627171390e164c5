"""Rules find the requests that were finished since by an index."""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

from evalsvc.evaluations.database.partitions import add_index

NAME = "ix_request_finished"
SENT = "capture = 'all' AND completed_at IS NOT NULL AND experiment_id IS NULL AND probability IS NULL"


def make(apps: Any, editor: Any) -> None:
    """Make the index of each month beside the traffic, and the whole table's."""
    definition = f"(account_id, completed_at) WHERE {SENT}"
    add_index(editor.connection, "evaluations_evaluationrequest", NAME, definition)


def drop(apps: Any, editor: Any) -> None:
    """Drop it, each month's with it."""
    editor.execute(f"DROP INDEX {NAME}")


class Migration(migrations.Migration):
    """Index finished requests that neither a rule nor an experiment has made, by the time of their end."""

    atomic = False
    dependencies = [("evaluations", "0035_probability")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(make, drop)],
            [
                migrations.AddIndex(
                    "evaluationrequest",
                    models.Index(
                        fields=["account", "completed_at"],
                        name=NAME,
                        condition=Q(capture="all", completed_at__isnull=False, experiment_id=None, probability=None),
                    ),
                )
            ],
        )
    ]
