"""Tags know the history that their evaluation's score is in: what has a tag is read in the order of the scores."""

from pathlib import Path

from django.db import migrations, models

SQL = Path(__file__).parent / "sql"
FUNCTIONS = [(SQL / f"{name}.sql").read_text(encoding="utf-8") for name in ("tagged", "tags", "functions", "client")]


class Migration(migrations.Migration):
    """Add the columns, and let the functions write and read them."""

    dependencies = [("evaluations", "0010_windows")]
    operations = [
        migrations.AddField(
            "evaluationtag",
            "history",
            models.BigIntegerField(null=True, help_text="history_tag(digest, evaluator_id, profile_name)"),
        ),
        migrations.AddField(
            "evaluationtag",
            "score_id",
            models.BigIntegerField(null=True, help_text="The evaluation's id in its history."),
        ),
        *(migrations.RunSQL(function, migrations.RunSQL.noop) for function in FUNCTIONS),
    ]
