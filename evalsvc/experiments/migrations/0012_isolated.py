"""Keep beside an output what components made of expected inputs."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column; rows of before have none."""

    dependencies = [("experiments", "0011_record_units")]
    operations = [
        migrations.AddField(
            model_name="output",
            name="isolated",
            field=models.JSONField(help_text="What components made of expected inputs: field by component.", null=True),
        ),
    ]
