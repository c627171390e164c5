"""The cpu lane is claimed by account, from the table."""

from pathlib import Path

from django.db import migrations, models
from django.db.models import Q

COMPUTING = (Path(__file__).parent / "sql" / "computing.sql").read_text(encoding="utf-8")
DROP = "DROP FUNCTION release_computing; DROP FUNCTION claim_computing;"


class Migration(migrations.Migration):
    """Add the indexes of what waits and of what was begun, and the functions."""

    dependencies = [("evaluations", "0015_judging")]
    operations = [
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                fields=["account", "id"],
                name="ix_evaluation_waiting",
                condition=Q(status="pending", lane="cpu", n_attempts=0),
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                fields=["account", "lease_expires_at"],
                name="ix_evaluation_begun",
                condition=Q(status="pending", lane="cpu", n_attempts__gt=0),
            ),
        ),
        migrations.RunSQL(COMPUTING, DROP),
    ]
