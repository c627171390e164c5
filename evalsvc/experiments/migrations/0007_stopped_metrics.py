"""Remember which metrics of a config were stopped, and why."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column."""

    dependencies = [("experiments", "0006_additions")]
    operations = [
        migrations.AddField(
            model_name="config",
            name="stopped_metrics",
            field=models.JSONField(default=dict, db_default={}, help_text="Why, by metric: its mapping leads nowhere."),
        )
    ]
