"""How the models of a connection are called, as it was learnt."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Keep it with the connection."""

    dependencies = [("judges", "0006_endpoint_fields")]

    operations = [
        migrations.AddField(
            model_name="connection",
            name="dialects",
            field=models.JSONField(
                db_default=models.Value({}, models.JSONField()),
                default=dict,
                editable=False,
            ),
        ),
    ]
