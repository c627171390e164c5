"""Monitors watch the cost of judges, too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Name the choice; no column changes."""

    dependencies = [
        ("monitors", "0003_deleted"),
    ]

    operations = [
        migrations.AlterField(
            model_name="monitor",
            name="estimand",
            field=models.CharField(
                choices=[
                    ("pass_rate", "Pass rate"),
                    ("mean_score", "Mean score"),
                    ("undecided_rate", "Share of undecided scores"),
                    ("error_rate", "Error rate"),
                    ("latency", "Share of slow evaluations"),
                    ("tokens", "Share of evaluations with many tokens"),
                    ("cost", "Share of expensive evaluations"),
                    ("agreement", "Agreement with labels"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="monitor",
            name="above",
            field=models.FloatField(
                help_text="Seconds, tokens or cost from which on an evaluation counts: exclusive.", null=True
            ),
        ),
    ]
