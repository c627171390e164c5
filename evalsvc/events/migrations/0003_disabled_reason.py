"""Endpoints record why the service disabled them, and there is an event for it."""

import django.contrib.postgres.fields
from django.db import migrations, models

CHOICES = [
    ("evaluation.failed", "A captured verdict fails its profile"),
    ("experiment.finished", "An experiment is done, or has failed"),
    ("decision.made", "A config of an experiment was stopped or brought back"),
    ("budget.near_end", "A connection has spent most of its daily budget"),
    ("connection.failing", "A connection is left alone, as its calls fail"),
    ("endpoint.disabled", "Another endpoint was disabled, as nothing could be delivered to it"),
]
REASONS = [("gone", "The receiver answered 410 (Gone)."), ("failing", "Nothing could be delivered for a day.")]


class Migration(migrations.Migration):
    """Add a column that may be null, which rewrites no row."""

    dependencies = [("events", "0002_left_out")]
    operations = [
        migrations.AddField(
            "eventendpoint",
            "disabled_reason",
            models.CharField(choices=REASONS, editable=False, max_length=10, null=True),
        ),
        migrations.AlterField(
            "eventendpoint",
            "event_types",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(choices=CHOICES, max_length=40), size=None
            ),
        ),
    ]
