"""What failed outputs count as: an option of plans, and how many there are in the sums."""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from evalsvc.tenancy.rls import Statements


def take_over_errors(editor: BaseDatabaseSchemaEditor) -> None:
    """Give plans that counted failures as worst in their race the same option under its new name."""
    editor.execute("UPDATE experiments_experimentplan SET failures = 'worst' WHERE errors = 'worst'")


class Migration(migrations.Migration):
    """Add the columns; earlier plans leave failures out, and their scores do not tell who was at fault."""

    dependencies = [("experiments", "0018_samples")]

    operations = [
        migrations.AddField(
            model_name="experimentplan",
            name="failures",
            field=models.CharField(
                choices=[("worst", "The worst value of each metric's range"), ("exclude", "Left out")],
                db_default="exclude",
                default="worst",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="experimentplan", name="errors", field=models.CharField(default="favour", max_length=10)
        ),
        migrations.AddField(
            model_name="aggregate",
            name="n_failed",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="Of those without a score, how many the config itself failed to answer.",
            ),
        ),
        migrations.AddField(
            model_name="look", name="n_failed", field=models.PositiveIntegerField(db_default=0, default=0)
        ),
        Statements(take_over_errors),
    ]
