"""How far retention has come is written by the system role alone: `verify` takes what it says for no loss."""

from django.db import migrations

from evalsvc.tenancy.rls import revoke


class Migration(migrations.Migration):
    """Take the right to write it from the application."""

    dependencies = [("evaluations", "0026_narrower_histories")]
    operations = [revoke("evaluations_pruned", "INSERT, UPDATE, DELETE")]
