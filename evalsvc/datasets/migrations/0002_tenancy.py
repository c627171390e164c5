"""Row-level security, and no UPDATE on what is frozen."""

from django.db import migrations

from evalsvc.tenancy.rls import protect, revoke


class Migration(migrations.Migration):
    """Protect the tables."""

    dependencies = [("datasets", "0001_initial")]
    operations = [
        protect("datasets_dataset"),
        protect("datasets_datasetversion"),
        protect("datasets_example"),
        revoke("datasets_datasetversion", "UPDATE"),
        revoke("datasets_example", "UPDATE"),
    ]
