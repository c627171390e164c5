"""Whether the leader of an experiment enters histories by itself may be said in its plan."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column; null is what held before, but for runs of one config."""

    dependencies = [("experiments", "0008_racing")]
    operations = [
        migrations.AddField(
            model_name="experimentplan",
            name="promote",
            field=models.BooleanField(
                help_text="Its leader enters histories when it is done; null: as `promotion` decides.", null=True
            ),
        ),
    ]
