"""The tables that grow become partitioned by id. All or nothing, and no row is rewritten."""

from pathlib import Path
from typing import Any

from django.db import migrations

from evalsvc.evaluations.database.partitions import become_partitioned
from evalsvc.tenancy.rls import only_for_system, protect

SQL = Path(__file__).parent / "sql"
TOOLS = [(SQL / f"{name}.sql").read_text(encoding="utf-8") for name in ("ids", "partitions", "becoming_partitioned")]
FUNCTIONS = [(SQL / f"{name}.sql").read_text(encoding="utf-8") for name in ("tagged", "tags", "functions", "client")]
# They speak of rows of the table that is there: the type goes by the table, not by its name.
DROP = """
DROP TRIGGER forget_tags ON evaluations_evaluation;
DROP TRIGGER keep_tags ON evaluations_evaluation;
DROP FUNCTION lease_evaluations;
DROP FUNCTION tags_of;
"""


def partition(apps: Any, editor: Any) -> None:
    """Let each table become a partition of one of its name."""
    become_partitioned(editor.connection)


class Migration(migrations.Migration):
    """Rename, create, attach; then policies, triggers and functions, which belong to the new tables."""

    dependencies = [("evaluations", "0017_bounds")]
    operations = [
        *(migrations.RunSQL(sql, migrations.RunSQL.noop) for sql in (*TOOLS, DROP)),
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(partition, migrations.RunPython.noop)],
            [migrations.RemoveConstraint("evaluation", "uq_evaluation_position")],
        ),
        migrations.RunSQL("DROP FUNCTION become_partitioned", migrations.RunSQL.noop),
        *(
            protect(f"evaluations_{table}")
            for table in ("evaluationrequest", "evaluation", "evaluationtag", "historyscore")
        ),
        *(migrations.RunSQL(function, migrations.RunSQL.noop) for function in FUNCTIONS),
        only_for_system("make_partitions(int)"),
        only_for_system("rows_without_partition(int)"),
        migrations.RunSQL("SELECT make_partitions()", migrations.RunSQL.noop),
    ]
