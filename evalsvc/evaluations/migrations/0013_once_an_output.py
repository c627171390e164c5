"""An output that one evaluator judges several times in a request counts once in its history."""

from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Let the functions write it so."""

    dependencies = [("evaluations", "0012_fill_tagged")]
    operations = [migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop)]
