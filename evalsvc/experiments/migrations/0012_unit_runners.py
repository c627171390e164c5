"""Name the unit runners in the function that claims units."""

from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent.parent / "sql" / "functions.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Replace the function by one whose parameter has the new name."""

    dependencies = [("experiments", "0011_record_units")]
    operations = [migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop)]
