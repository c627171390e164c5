"""Captures of a group are written an account at a time, in one statement."""

from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Replace the functions."""

    dependencies = [("evaluations", "0023_index_plans")]
    operations = [migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop)]
