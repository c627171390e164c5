"""Captures of several callers are kept in one transaction."""

from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Install the functions anew."""

    dependencies = [("evaluations", "0013_once_an_output")]
    operations = [migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop)]
