"""Accounts that are off, and accounts that are marked as deleted."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add two columns that are empty."""

    dependencies = [("accounts", "0003_retention")]
    operations = [
        migrations.AddField(
            "account",
            "off_at",
            models.DateTimeField(null=True, blank=True, editable=False, help_text="Since when nobody may use it."),
        ),
        migrations.AddField(
            "account",
            "deleted_at",
            models.DateTimeField(null=True, blank=True, editable=False, help_text="Since when its rows are going."),
        ),
    ]
