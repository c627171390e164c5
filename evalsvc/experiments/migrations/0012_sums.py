"""One function says what is kept of scores; those that write and count them call it."""

from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent.parent / "sql" / "functions.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Add the functions of sums, and replace those that had them written out."""

    dependencies = [("experiments", "0011_record_units")]
    operations = [migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop)]
