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
