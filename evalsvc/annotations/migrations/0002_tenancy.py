"""Row-level security of the annotations table."""

from django.db import migrations

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Protect the table."""

    dependencies = [("annotations", "0001_initial")]
    operations = [protect("annotations_annotationcriteria")]
