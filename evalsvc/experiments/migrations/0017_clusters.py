"""A plan may say what its examples share."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column; plans of before name nothing."""

    dependencies = [("experiments", "0016_retries")]
    operations = [
        migrations.AddField(
            model_name="experimentplan",
            name="cluster_by",
            field=models.CharField(help_text="What examples share; null: nothing.", max_length=200, null=True),
        ),
    ]
