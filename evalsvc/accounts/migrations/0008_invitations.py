"""Invitations: links that let one person in, once."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect

ROLES = [
    ("admin", "Admin: everything, keys and members included"),
    ("editor", "Editor: evaluators and profiles"),
    ("reader", "Reader: looks on"),
]


class Migration(migrations.Migration):
    """Add a table."""

    dependencies = [("accounts", "0007_use_of_keys")]
    operations = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False
                    ),
                ),
                ("email", models.EmailField(max_length=254)),
                ("role", models.CharField(choices=ROLES, max_length=10)),
                ("public", models.CharField(editable=False, max_length=24, unique=True)),
                ("secret_hash", models.BinaryField(max_length=32)),
                ("invited_by", models.CharField(max_length=120)),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(null=True)),
                ("withdrawn_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "account",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="accounts.account"),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["account", "-id"], name="ix_invitation_account")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("accepted_at", None), ("withdrawn_at", None)),
                        fields=("account", "email"),
                        name="uq_invitation_open_once",
                    )
                ],
            },
        ),
        protect("accounts_invitation"),
    ]
