"""How many outputs of a config an evaluator has not decided."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column. Evaluators of before have decided every output."""

    dependencies = [("experiments", "0023_waiting_units")]

    operations = [
        migrations.AddField(
            model_name="aggregate",
            name="n_undecided",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Of the errors, the outputs that the evaluator has not decided."
            ),
        ),
    ]
