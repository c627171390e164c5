"""How the answer of a config ended."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column; null says that an answer ended as its status says."""

    dependencies = [("experiments", "0020_confirm")]

    operations = [
        migrations.AddField(
            model_name="output",
            name="ending",
            field=models.CharField(
                help_text="How the answer ended; null: as its status says.", max_length=20, null=True
            ),
        ),
    ]
