"""What webhook requests are signed with."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Add the table, protected."""

    dependencies = [("accounts", "0002_tenancy"), ("judges", "0003_default_connection")]
    operations = [
        migrations.CreateModel(
            name="WebhookSecret",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("secret", models.BinaryField()),
                ("last4", models.CharField(max_length=4)),
                ("previous", models.BinaryField(null=True)),
                ("previous_until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "account",
                    models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, to="accounts.account"),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("previous", None), ("previous_until", None)),
                            models.Q(("previous__isnull", False), ("previous_until__isnull", False)),
                            _connector="OR",
                        ),
                        name="ck_webhook_secret_previous_ends",
                    )
                ],
            },
        ),
        protect("judges_webhooksecret"),
    ]
