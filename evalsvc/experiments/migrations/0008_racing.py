"""Options of a plan: how far it goes, where it waits, when it is over, and what a failure means."""

from pathlib import Path

import django.contrib.postgres.fields
from django.db import migrations, models

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")
REASONS = [
    ("user", "A person stopped it"),
    ("policy", "The policy stopped it"),
    ("budget", "The budget is spent"),
    ("error", "It kept failing"),
    ("decided", "It is the last one in the race"),
    ("pause", "It waits at the end of a shard"),
]
ABORTS = [("config", "Its config"), ("run", "Every config")]
ERRORS = [
    ("favour", "It speaks for the config that would be stopped"),
    ("worst", "If the config caused it, it is the worst score there is"),
]


class Migration(migrations.Migration):
    """Add them, and replace the functions that give work out and end a config."""

    dependencies = [("experiments", "0007_stopped_metrics")]
    operations = [
        migrations.AddField(
            model_name="experimentplan",
            name="limit",
            field=models.PositiveIntegerField(
                help_text="Only so many examples are asked, the first of the order.", null=True
            ),
        ),
        migrations.AddField(
            model_name="experimentplan",
            name="stop_when_decided",
            field=models.BooleanField(default=False, help_text="The last config in the race is not asked on."),
        ),
        migrations.AddField(
            model_name="experimentplan",
            name="errors",
            field=models.CharField(choices=ERRORS, default="favour", max_length=10),
        ),
        migrations.AddField(
            model_name="experimentplan",
            name="abort_on_error",
            field=models.CharField(choices=ABORTS, max_length=10, null=True),
        ),
        migrations.AddField(
            model_name="experimentplan",
            name="pause_at_shards",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.PositiveSmallIntegerField(), help_text="Numbers of shards.", null=True, size=None
            ),
        ),
        migrations.AddField(
            model_name="config",
            name="pause_at",
            field=models.PositiveIntegerField(help_text="Nothing beyond it is given out before a resume.", null=True),
        ),
        migrations.AlterField(
            model_name="config",
            name="stop_reason",
            field=models.CharField(choices=REASONS, max_length=10, null=True),
        ),
        migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop),
    ]
