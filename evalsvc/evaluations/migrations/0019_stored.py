"""What was accepted is asked for again with one message to the database."""

from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent / "sql/stored.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Add the functions."""

    dependencies = [("evaluations", "0018_partitions")]
    operations = [migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop)]
