"""There are events for alarms, and formats of their deliveries."""

import django.contrib.postgres.fields
from django.db import migrations, models

CHOICES = [
    ("evaluation.failed", "A captured verdict fails its profile"),
    ("experiment.finished", "An experiment is done, or has failed"),
    ("decision.made", "A config of an experiment was stopped or brought back"),
    ("budget.near_end", "A connection has spent most of its daily budget"),
    ("connection.failing", "A connection is left alone, as its calls fail"),
    ("eval.run.succeeded", "A run of an eval is completed"),
    ("eval.run.failed", "A run of an eval has failed"),
    ("eval.run.canceled", "A run of an eval was canceled"),
    ("alarm.opened", "A monitor has detected a change"),
    ("alarm.acknowledged", "An alarm of a monitor was acknowledged"),
    ("alarm.resolved", "An alarm of a monitor is over"),
    ("endpoint.disabled", "Another endpoint was disabled, as nothing could be delivered to it"),
]


class Migration(migrations.Migration):
    """Change the choices of a column, and add two."""

    dependencies = [("events", "0004_eval_runs")]
    operations = [
        migrations.AlterField(
            "eventendpoint",
            "event_types",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(choices=CHOICES, max_length=40), size=None
            ),
        ),
        migrations.AddField(
            "eventendpoint",
            "format",
            models.CharField(
                choices=[
                    ("standard", "Standard Webhooks"),
                    ("slack", "Slack: incoming webhook"),
                    ("pagerduty", "PagerDuty: Events API v2"),
                    ("teams", "Teams: workflow with an adaptive card"),
                    ("email", "E-mail to members of the account"),
                ],
                db_default="standard",
                default="standard",
                max_length=10,
            ),
        ),
        migrations.AddField("eventendpoint", "routing_key", models.BinaryField(editable=False, null=True)),
    ]
