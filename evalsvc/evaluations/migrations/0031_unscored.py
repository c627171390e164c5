"""Searches for what has no score find it by an index: it is rare, and what people look for first."""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

from evalsvc.evaluations.database.partitions import add_index

NAME = "ix_evaluation_unscored"
UNSCORED = "status = 'error' OR status = 'validation_error'"


def make(apps: Any, editor: Any) -> None:
    """Make the index of each month beside the traffic, and the whole table's."""
    definition = f"(account_id, created_at DESC, id DESC) WHERE captured AND ({UNSCORED})"
    add_index(editor.connection, "evaluations_evaluation", NAME, definition)


def drop(apps: Any, editor: Any) -> None:
    """Drop it, each month's with it."""
    editor.execute(f"DROP INDEX {NAME}")


class Migration(migrations.Migration):
    """Index evaluations that ended without a score, newest first."""

    atomic = False
    dependencies = [("evaluations", "0030_rollups")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(make, drop)],
            [
                migrations.AddIndex(
                    "evaluation",
                    models.Index(
                        fields=["account", "-created_at", "-id"],
                        name=NAME,
                        condition=Q(captured=True) & (Q(status="error") | Q(status="validation_error")),
                    ),
                )
            ],
        )
    ]
