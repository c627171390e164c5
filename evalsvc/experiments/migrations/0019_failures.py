"""What a failed output counts as, and how many there are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the columns. Plans of before exclude failures, but for races in which they were the worst score."""

    dependencies = [("experiments", "0018_samples")]

    operations = [
        migrations.AddField(
            model_name="experimentplan",
            name="failures",
            field=models.CharField(
                choices=[
                    ("worst", "As the worst value of each metric's range"),
                    ("exclude", "As nothing: it is left out"),
                ],
                db_default="exclude",
                default="exclude",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="experimentplan",
            name="errors",
            field=models.CharField(default="favour", max_length=10),
        ),
        migrations.AddField(
            model_name="aggregate",
            name="n_failed",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Of the errors, the outputs that failed by the system's own fault."
            ),
        ),
        migrations.RunSQL(
            "UPDATE experiments_experimentplan SET failures = 'worst' WHERE errors = 'worst'", migrations.RunSQL.noop
        ),
    ]
