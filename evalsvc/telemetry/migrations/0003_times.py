"""Indexes by time, for searches."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the indexes."""

    dependencies = [("accounts", "0002_tenancy"), ("telemetry", "0002_tenancy")]
    operations = [
        migrations.AddIndex("logrecord", models.Index(fields=["account", "-occurred_at", "-id"], name="ix_log_time")),
        migrations.AddIndex("span", models.Index(fields=["account", "-started_at", "-id"], name="ix_span_time")),
    ]
