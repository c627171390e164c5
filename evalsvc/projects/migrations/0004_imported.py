"""Since when an experiment is a copy of one that ran elsewhere."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column, null for every experiment that ran here."""

    dependencies = [("projects", "0003_created_by")]
    operations = [
        migrations.AddField(
            model_name="experiment",
            name="imported_at",
            field=models.DateTimeField(
                help_text="It came in as a bundle: what it held then does not go on.", null=True
            ),
        ),
    ]
