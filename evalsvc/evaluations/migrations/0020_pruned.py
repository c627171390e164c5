"""Claims look at two partitions first, and the functions that write evaluations are planned once in a session."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"
FUNCTIONS = [
    (SQL / f"{name}.sql").read_text(encoding="utf-8")
    for name in ("claims", "tags", "functions", "judging", "computing")
]


class Migration(migrations.Migration):
    """Replace the functions."""

    dependencies = [("evaluations", "0019_stored")]
    operations = [migrations.RunSQL(function, migrations.RunSQL.noop) for function in FUNCTIONS]
