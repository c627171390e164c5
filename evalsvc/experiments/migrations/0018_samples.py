"""Several samples of each example: how many a plan asks for, what they answered, and how they scored."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the columns; rows of before have one sample, which is the row itself."""

    dependencies = [("experiments", "0017_clusters")]

    operations = [
        migrations.AddField(
            model_name="experimentplan",
            name="n_samples",
            field=models.PositiveSmallIntegerField(
                db_default=1, default=1, help_text="How often each config is asked for each example."
            ),
        ),
        migrations.AddField(
            model_name="output",
            name="samples",
            field=models.JSONField(
                help_text="Each answer, where an example is asked several times; their sums are this row.", null=True
            ),
        ),
        migrations.AddField(
            model_name="score",
            name="samples",
            field=models.JSONField(
                help_text="The score of each answer, or its error; `value` is the mean of those there are.", null=True
            ),
        ),
        migrations.AddField(
            model_name="score",
            name="n_scored",
            field=models.PositiveSmallIntegerField(help_text="How many samples have a score.", null=True),
        ),
        migrations.AddField(
            model_name="score",
            name="within",
            field=models.FloatField(help_text="Variance of the samples' scores, with n_scored - 1.", null=True),
        ),
    ]
