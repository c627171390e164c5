"""There is a reason for the alarms of a deleted monitor."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Name the choice; no column changes."""

    dependencies = [
        ("monitors", "0002_kinds"),
    ]

    operations = [
        migrations.AlterField(
            model_name="alarm",
            name="reason",
            field=models.CharField(
                choices=[
                    ("recovered", "The scores are back at the baseline"),
                    ("person", "Resolved by a person"),
                    ("rebaselined", "The monitor has a new baseline"),
                    ("deleted", "The monitor was deleted"),
                ],
                help_text="Why it is resolved.",
                max_length=12,
                null=True,
            ),
        ),
    ]
