"""Row-level security of the idempotency records."""

from django.db import migrations

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Protect the table."""

    dependencies = [("rest", "0001_initial")]
    operations = [protect("rest_idempotencyrecord")]
