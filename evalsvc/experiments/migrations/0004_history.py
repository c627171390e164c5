"""What experiments tell histories is one row for each output, and a trial until its config is promoted."""

from pathlib import Path
from typing import Any

from django.db import migrations

from evalsvc.experiments.maintenance.trials import fill_trials

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")


def fill_rows(apps: Any, editor: Any) -> None:
    """Fill in what experiments tell; what was filled in before an interruption stays."""
    fill_trials(editor.connection)


class Migration(migrations.Migration):
    """Replace the function that records scores, and fill in old rows."""

    atomic = False
    dependencies = [("experiments", "0003_not_applicable"), ("evaluations", "0009_fill_history")]
    operations = [
        migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop),
        migrations.RunPython(fill_rows, migrations.RunPython.noop),
    ]
