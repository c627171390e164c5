"""What retention has taken, and the function by which it drops whole partitions."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

from evalsvc.tenancy.rls import only_for_system, protect

DROPPING = (Path(__file__).parent / "sql" / "dropping.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Add the table and the function."""

    dependencies = [("accounts", "0003_retention"), ("evaluations", "0020_pruned")]
    operations = [
        migrations.CreateModel(
            name="Pruned",
            fields=[
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="accounts.account",
                    ),
                ),
                (
                    "evaluations_until",
                    models.BigIntegerField(
                        help_text="Requests of before this id are gone, and their evaluations.", null=True
                    ),
                ),
                (
                    "scores_until",
                    models.BigIntegerField(help_text="Scores of before this id may be gone.", null=True),
                ),
            ],
            options={"verbose_name_plural": "pruned"},
        ),
        protect("evaluations_pruned"),
        migrations.RunSQL(DROPPING, migrations.RunSQL.noop),
        only_for_system("drop_partitions(text, bigint)"),
    ]
