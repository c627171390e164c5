"""Histories are read within windows, and experiments' configs promoted into them."""

from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Add the functions."""

    dependencies = [("evaluations", "0009_fill_history")]
    operations = [migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop)]
