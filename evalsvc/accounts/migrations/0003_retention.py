"""How long an account's rows are kept, where that is not the default."""

from django.db import migrations, models

DAYS = "Days that {} are kept; 0: for ever; empty: the default."


class Migration(migrations.Migration):
    """Add two columns that are empty."""

    dependencies = [("accounts", "0002_tenancy")]
    operations = [
        migrations.AddField(
            "account",
            "retention_days",
            models.PositiveIntegerField(null=True, blank=True, help_text=DAYS.format("texts and evaluations")),
        ),
        migrations.AddField(
            "account",
            "retention_history_days",
            models.PositiveIntegerField(null=True, blank=True, help_text=DAYS.format("the scores of histories")),
        ),
    ]
