"""What was accepted and is asked for again is delivered with the reading; judged work is written with less looking."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"
FUNCTIONS = [(SQL / f"{name}.sql").read_text(encoding="utf-8") for name in ("judging", "stored")]


class Migration(migrations.Migration):
    """Replace the functions."""

    dependencies = [("evaluations", "0024_captures_by_account")]
    operations = [migrations.RunSQL(function, migrations.RunSQL.noop) for function in FUNCTIONS]
