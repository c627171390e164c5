"""What criteria may be asked of."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column; older criteria may be asked of everything."""

    dependencies = [("annotations", "0002_tenancy")]
    operations = [
        migrations.AddField(
            model_name="annotationcriteria",
            name="resource_types",
            field=models.JSONField(
                db_default=models.Value([], models.JSONField()),
                default=list,
                help_text="What it may be asked of; empty: of all.",
            ),
        ),
    ]
