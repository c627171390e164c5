"""Who made a project; and a project with experiments is no longer deleted with them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column; what happens on deletion is decided by the application."""

    dependencies = [("projects", "0002_tenancy")]
    operations = [
        migrations.AddField(
            model_name="project",
            name="created_by",
            field=models.CharField(
                help_text="`key:<id>`; null where an evaluation or experiment brought the name.",
                max_length=120,
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="experiment",
            name="project",
            field=models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, to="projects.project"),
        ),
    ]
