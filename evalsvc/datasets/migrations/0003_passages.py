"""Say that contexts may be passages: no column changes."""

from django.db import migrations

import evalsvc.datasets.fields


class Migration(migrations.Migration):
    """Change a help text."""

    dependencies = [("datasets", "0002_tenancy")]
    operations = [
        migrations.AlterField(
            model_name="example",
            name="contexts",
            field=evalsvc.datasets.fields.JSONTextField(help_text="List of texts or passages, or null.", null=True),
        )
    ]
