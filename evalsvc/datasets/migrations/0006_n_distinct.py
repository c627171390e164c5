"""A version knows how many of its examples differ; it is null for the versions that are there."""

from django.db import migrations, models

DISTINCT = "Examples that differ in input, expected answer, contexts or output; null: not counted."


class Migration(migrations.Migration):
    """Add a column that may be null."""

    dependencies = [("datasets", "0005_named_formats")]
    operations = [
        migrations.AddField("datasetversion", "n_distinct", models.PositiveIntegerField(help_text=DISTINCT, null=True)),
    ]
