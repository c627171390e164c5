"""A label that an experiment's winner was given keeps what it rests on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column that old code leaves out."""

    dependencies = [("prompts", "0001_initial")]
    operations = [
        migrations.AddField(
            model_name="promptlabel",
            name="evidence",
            field=models.JSONField(
                help_text="The experiment that it rests on, as it stood; null where somebody just set it.", null=True
            ),
        ),
    ]
