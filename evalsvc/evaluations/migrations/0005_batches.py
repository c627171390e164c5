"""Let a batch of results say how long ago the rows are that it may repeat."""

from pathlib import Path

from django.db import migrations

FUNCTION = (Path(__file__).parent / "sql" / "client.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Replace the function that keeps client-side scores."""

    dependencies = [("evaluations", "0004_places")]
    operations = [migrations.RunSQL(FUNCTION, migrations.RunSQL.noop)]
