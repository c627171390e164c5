"""Monitors watch how many evaluations arrive in a window; their alarms are of no score."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column, and let another be null."""

    dependencies = [
        ("monitors", "0004_cost"),
    ]

    operations = [
        migrations.AddField(
            model_name="monitor",
            name="period_minutes",
            field=models.PositiveIntegerField(help_text="Of volume: the window that the limit is for.", null=True),
        ),
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
                    ("volume", "Number of evaluations"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="alarm",
            name="score_id",
            field=models.BigIntegerField(
                help_text="Of the history: the score that completed the unit of the alarm; null for volume.", null=True
            ),
        ),
    ]
