"""Row-level security: managed rows have no account, are read by all and written by the owner."""

from django.db import migrations

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Protect the tables."""

    dependencies = [("catalog", "0001_initial")]
    operations = [
        protect("catalog_evaluator", shared_when_null=True),
        protect("catalog_profile", shared_when_null=True),
        protect("catalog_profilerevision", shared_when_null=True),
    ]
