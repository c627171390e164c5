"""Families and profiles' ids are found by other indexes, and logs and traces by narrower ones."""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

from evalsvc.evaluations.database.partitions import add_index

TABLE = "evaluations_evaluation"
NAMES = ("log_id", "trace_id")


def narrow(apps: Any, editor: Any) -> None:
    """Put narrower indexes in the place of those that are there."""
    for name in NAMES:
        editor.execute(f"DROP INDEX ix_evaluation_{name}")
        add_index(
            editor.connection,
            TABLE,
            f"ix_evaluation_{name}",
            f"(account_id, {name}) WHERE captured AND {name} IS NOT NULL",
        )


class Migration(migrations.Migration):
    """Drop two, build two anew."""

    dependencies = [("evaluations", "0021_retention")]
    operations = [
        migrations.RemoveIndex("evaluation", "ix_evaluation_family"),
        migrations.RemoveIndex("evaluation", "ix_evaluation_profile_id"),
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(narrow, migrations.RunPython.noop)],
            [
                operation
                for name in NAMES
                for operation in (
                    migrations.RemoveIndex("evaluation", f"ix_evaluation_{name}"),
                    migrations.AddIndex(
                        "evaluation",
                        models.Index(
                            fields=["account", name],
                            name=f"ix_evaluation_{name}",
                            condition=Q(("captured", True), (f"{name}__isnull", False)),
                        ),
                    ),
                )
            ],
        ),
    ]
