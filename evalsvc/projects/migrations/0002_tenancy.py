"""Row-level security of the projects tables."""

from django.db import migrations

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Protect the tables."""

    dependencies = [("projects", "0001_initial")]
    operations = [protect("projects_project"), protect("projects_app"), protect("projects_experiment")]
