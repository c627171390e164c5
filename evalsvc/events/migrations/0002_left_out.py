"""What the rate limit leaves out has an index of its own: it is counted apart from what is delivered."""

from django.db import migrations, models
from django.db.models import Q

from evalsvc.infra.indexes import AddIndexBeside

FIELDS = ["endpoint", "-created_at"]


class Migration(migrations.Migration):
    """Put two indexes, each of a part, in the place of one."""

    atomic = False
    dependencies = [("events", "0001_initial")]
    operations = [
        AddIndexBeside(
            "eventdelivery",
            models.Index(fields=FIELDS, name="ix_event_delivery_begun", condition=~Q(("status", "limited"))),
        ),
        AddIndexBeside(
            "eventdelivery",
            models.Index(fields=FIELDS, name="ix_event_delivery_left_out", condition=Q(("status", "limited"))),
        ),
        migrations.RemoveIndex("eventdelivery", "ix_event_delivery_rate"),
    ]
