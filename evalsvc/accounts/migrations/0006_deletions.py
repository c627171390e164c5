"""What stays of accounts that are deleted: a line each, for the operator alone."""

import django.db.models.functions.datetime
from django.db import migrations, models

from evalsvc.tenancy.rls import revoke


class Migration(migrations.Migration):
    """Add a table."""

    dependencies = [("accounts", "0005_refuse_unrunnable")]
    operations = [
        migrations.CreateModel(
            name="AccountDeletion",
            fields=[
                (
                    "id",
                    models.BigIntegerField(primary_key=True, serialize=False, help_text="Of the account that was."),
                ),
                (
                    "ordered_by",
                    models.CharField(max_length=10, help_text="`operator`, or `admin`: one of the account's own."),
                ),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "scrubbed_at",
                    models.DateTimeField(null=True, help_text="Since when no file of the servers holds what it had."),
                ),
            ],
        ),
        revoke("accounts_accountdeletion", "ALL"),
    ]
