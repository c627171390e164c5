"""Scores wait in the database while their judge's endpoint is away."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Say of a unit since when it waits, and for what."""

    dependencies = [("experiments", "0022_endings_index")]

    operations = [
        migrations.AlterField(
            model_name="workunit",
            name="lease_expires_at",
            field=models.DateTimeField(null=True, help_text="Without a token: it is not claimed before."),
        ),
        migrations.AddField(
            model_name="workunit",
            name="waiting_since",
            field=models.DateTimeField(null=True, help_text="Since when its scores wait for a judge's endpoint."),
        ),
        migrations.AddField(
            model_name="workunit",
            name="waiting_message",
            field=models.TextField(null=True, help_text="Until when they wait, and what the endpoint has answered."),
        ),
    ]
