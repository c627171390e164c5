"""Row-level security of the telemetry tables."""

from django.db import migrations

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Protect the tables."""

    dependencies = [("telemetry", "0001_initial")]
    operations = [protect("telemetry_span"), protect("telemetry_logrecord")]
