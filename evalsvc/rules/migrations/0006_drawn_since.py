"""Rules know since when the same hash draws."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column."""

    dependencies = [
        ("rules", "0005_budget"),
    ]

    operations = [
        migrations.AddField(
            model_name="rule",
            name="drawn_since",
            field=models.PositiveIntegerField(
                db_default=1, default=1, help_text="The revision since which the same hash draws."
            ),
        ),
    ]
