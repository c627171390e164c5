"""Row-level security."""

from django.db import migrations

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Protect the table."""

    dependencies = [("judges", "0001_initial")]
    operations = [protect("judges_connection")]
