"""What a monitor watches beside the pass rate and the mean score."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add columns."""

    dependencies = [
        ("monitors", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="monitor",
            name="above",
            field=models.FloatField(
                help_text="Seconds or tokens from which on an evaluation counts: exclusive.", null=True
            ),
        ),
        migrations.AddField(
            model_name="monitor",
            name="labels",
            field=models.UUIDField(help_text="The criteria of the labels that agreement is with.", null=True),
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
                    ("agreement", "Agreement with labels"),
                ],
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="monitor",
            name="limit",
            field=models.FloatField(help_text="Fixed, in place of the mean of a baseline.", null=True),
        ),
        migrations.AddField(
            model_name="monitor",
            name="n_undecided",
            field=models.PositiveBigIntegerField(
                db_default=0, help_text="Of the scores read, those without a verdict."
            ),
        ),
        migrations.AlterField(
            model_name="monitor",
            name="progress",
            field=models.JSONField(help_text="The engine's state, incomplete units, and for how long it is silent."),
        ),
    ]
