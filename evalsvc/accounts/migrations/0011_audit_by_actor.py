"""Find what a person has done in an account: the policy of the people's table asks this for each name that it shows."""

from django.db import migrations, models

from evalsvc.infra.indexes import AddIndexBeside


class Migration(migrations.Migration):
    """Add an index beside the traffic."""

    atomic = False
    dependencies = [("accounts", "0010_people")]
    operations = [
        AddIndexBeside("auditentry", models.Index(fields=["account", "actor"], name="ix_audit_actor")),
    ]
