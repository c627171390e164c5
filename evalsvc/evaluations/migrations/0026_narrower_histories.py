"""Indexes of windows of histories hold what they are searched by; requests leave two long texts to evaluations."""

from pathlib import Path
from typing import Any

from django.db import migrations, models
from django.db.models import Q

from evalsvc.evaluations.database.partitions import add_index

SQL = Path(__file__).parent / "sql"
FUNCTIONS = [(SQL / f"{name}.sql").read_text(encoding="utf-8") for name in ("functions", "client")]
TABLE = "evaluations_historyscore"
NAMES = ["account", "evaluator_id", "profile_name"]
PLACES = {
    "app": ["app", "id"],
    "project": ["project_id", "trial", "id"],
    "experiment": ["experiment_id", "trial", "id"],
}


def narrow(apps: Any, editor: Any) -> None:
    """Put narrower indexes in the place of those that are there."""
    for name, columns in PLACES.items():
        editor.execute(f"DROP INDEX ix_history_{name}")
        keys = ", ".join(("account_id", *NAMES[1:], *columns))
        add_index(editor.connection, TABLE, f"ix_history_{name}", f"({keys}) WHERE {columns[0]} IS NOT NULL")


class Migration(migrations.Migration):
    """Build three anew, and replace the functions."""

    dependencies = [("evaluations", "0025_waiting")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(narrow, migrations.RunPython.noop)],
            [
                operation
                for name, columns in PLACES.items()
                for operation in (
                    migrations.RemoveIndex("historyscore", f"ix_history_{name}"),
                    migrations.AddIndex(
                        "historyscore",
                        models.Index(
                            fields=[*NAMES, *columns],
                            name=f"ix_history_{name}",
                            condition=Q((f"{columns[0]}__isnull", False)),
                        ),
                    ),
                )
            ],
        ),
        *(migrations.RunSQL(function, migrations.RunSQL.noop) for function in FUNCTIONS),
    ]
