"""How far a rule has looked through logs. Rules that exist begin with the logs that arrive from now on."""

from django.db import migrations, models

import evalsvc.tenancy.scope


class Migration(migrations.Migration):
    """Add columns."""

    dependencies = [
        ("rules", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="rule",
            name="log_watermark",
            field=models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId()),
        ),
        migrations.AddField(
            model_name="rule",
            name="first_id",
            field=models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId()),
        ),
    ]
