"""Judges are asked by runners that claim and finish in batches, over all accounts."""

from pathlib import Path

from django.db import migrations, models
from django.db.models import Q

SQL = Path(__file__).parent / "sql"
FUNCTIONS, JUDGING = ((SQL / name).read_text(encoding="utf-8") for name in ("functions.sql", "judging.sql"))
DROP = """
DROP FUNCTION finish_judging; DROP FUNCTION postpone_judging; DROP FUNCTION extend_judging; DROP FUNCTION held_judging;
DROP FUNCTION read_judging; DROP FUNCTION claim_judging; DROP FUNCTION judging_pairs;
"""


class Migration(migrations.Migration):
    """Add the index of what waits for a judge, and the functions."""

    dependencies = [("evaluations", "0014_capture_batch"), ("catalog", "0001_initial")]
    operations = [
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                fields=["account", "profile_id", "lease_expires_at"],
                name="ix_evaluation_judging",
                condition=Q(status="pending", lane="judge"),
            ),
        ),
        migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop),
        migrations.RunSQL(JUDGING, DROP),
    ]
