"""Examples of a plan that only the chosen config and the baseline answer."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column; plans of before confirm nothing."""

    dependencies = [("experiments", "0019_failures")]

    operations = [
        migrations.AddField(
            model_name="experimentplan",
            name="confirm",
            field=models.PositiveIntegerField(
                help_text="The last examples of the order: only the chosen config and the baseline answer them.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="experimentplan",
            name="promote",
            field=models.BooleanField(
                help_text="Its leader enters histories when it is done; null: not asked for.", null=True
            ),
        ),
    ]
