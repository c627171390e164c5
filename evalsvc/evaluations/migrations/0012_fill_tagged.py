"""Old tags learn their history. In portions: ended in the middle, it goes on when run again."""

from typing import Any

from django.db import migrations, models

from evalsvc.evaluations.maintenance.repair import fill_tags


def fill_rows(apps: Any, editor: Any) -> None:
    """Fill in what evaluations tell."""
    fill_tags(editor.connection)


class Migration(migrations.Migration):
    """Fill in the columns of 0011, then index them."""

    atomic = False
    dependencies = [("evaluations", "0011_tagged")]
    operations = [
        migrations.RunPython(fill_rows, migrations.RunPython.noop),
        migrations.AddIndex(
            "evaluationtag",
            models.Index(fields=["account", "history", "score_id"], name="ix_evaluationtag_history"),
        ),
    ]
