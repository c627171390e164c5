"""Rates of their own for some spans of a rule. Rules that exist have none."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column."""

    dependencies = [
        ("rules", "0002_log_watermark"),
    ]

    operations = [
        migrations.AddField(
            model_name="rule",
            name="strata",
            field=models.JSONField(help_text="Filters with rates of their own; the first that fits counts.", null=True),
        ),
    ]
