"""Old rows of the history learn where they belong. In portions: ended in the middle, it goes on when run again."""

from typing import Any

from django.db import migrations

from evalsvc.evaluations.maintenance.repair import fill


def fill_rows(apps: Any, editor: Any) -> None:
    """Fill in what evaluations tell."""
    fill(editor.connection)


class Migration(migrations.Migration):
    """Fill in the columns of 0008."""

    atomic = False
    dependencies = [("evaluations", "0008_history_places")]
    operations = [migrations.RunPython(fill_rows, migrations.RunPython.noop)]
