"""The functions that write evaluations go by indexes, however small the tables were when they were planned."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"
FUNCTIONS = [
    (SQL / f"{name}.sql").read_text(encoding="utf-8") for name in ("tags", "functions", "judging", "computing")
]


class Migration(migrations.Migration):
    """Replace the functions."""

    dependencies = [("evaluations", "0022_fewer_indexes")]
    operations = [migrations.RunSQL(function, migrations.RunSQL.noop) for function in FUNCTIONS]
