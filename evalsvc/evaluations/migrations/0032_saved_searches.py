"""Searches under a name, and their policy."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the table."""

    dependencies = [("accounts", "0008_invitations"), ("evaluations", "0031_unscored")]

    operations = [
        migrations.CreateModel(
            name="SavedSearch",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                (
                    "query",
                    models.JSONField(
                        help_text="Filters by their short names, as they were written: a relative time stays so."
                    ),
                ),
                ("created_by", models.CharField(max_length=120)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("updated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "account",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="accounts.account"),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        help_text="Whose it is, and with whom it goes; null: the account's.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.member",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("account", "owner", "name"), name="uq_savedsearch_own"),
                    models.UniqueConstraint(
                        condition=models.Q(("owner__isnull", True)),
                        fields=("account", "name"),
                        name="uq_savedsearch_shared",
                    ),
                ],
            },
        ),
        protect("evaluations_savedsearch"),
    ]
