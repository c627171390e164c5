"""The endings of a config are counted often, and few answers end otherwise than by a stop."""

from django.db import migrations, models

from evalsvc.infra.indexes import AddIndexBeside


class Migration(migrations.Migration):
    """Index the outputs whose ending is not that of their status."""

    atomic = False
    dependencies = [("experiments", "0021_endings")]

    operations = [
        AddIndexBeside(
            model_name="output",
            index=models.Index(
                condition=models.Q(("ending__isnull", False)), fields=["config"], name="ix_output_ending"
            ),
        ),
    ]
