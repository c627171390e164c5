"""The default connection of an account."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Let an account name the connection that is asked unless a profile names another."""

    dependencies = [("judges", "0002_tenancy")]

    operations = [
        migrations.AddField(
            model_name="connection",
            name="is_default",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Asked by evaluators whose profile names no other."
            ),
        ),
        migrations.AddConstraint(
            model_name="connection",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_default", True)), fields=("account",), name="uq_connection_default"
            ),
        ),
    ]
