"""Record the outcomes of many units in one transaction."""

from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Add the function that records in groups."""

    dependencies = [("experiments", "0010_output_traces")]
    operations = [migrations.RunSQL(FUNCTIONS, "DROP FUNCTION record_units")]
