"""What the models of a connection can read besides texts."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Let an account mark the connections whose models see images or hear recordings."""

    # Not on the squashed one: an installation may have come by the steps that it replaces.
    dependencies = [("judges", "0004_webhook_secret")]

    operations = [
        migrations.AddField(
            model_name="connection",
            name="sees_images",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Its model reads attached images, as judge-image sends them.",
            ),
        ),
        migrations.AddField(
            model_name="connection",
            name="hears_audio",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Its model reads attached recordings, as judge-audio sends them.",
            ),
        ),
    ]
