"""Rules on evaluations. Rules that exist are on spans."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column."""

    dependencies = [
        ("rules", "0003_strata"),
        ("evaluations", "0036_finished"),
    ]

    operations = [
        migrations.AddField(
            model_name="rule",
            name="source",
            field=models.CharField(
                choices=[("spans", "Spans"), ("evaluations", "Evaluations")],
                db_default="spans",
                default="spans",
                max_length=12,
            ),
        ),
    ]
