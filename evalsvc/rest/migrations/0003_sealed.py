"""Records of idempotency by resource, so that a deleted one takes its answers along.

The table holds one day, and next to nothing in it meets the index's condition yet: it is made in one short look.
"""

# contract step: nothing is taken away; the index stops the writes of keyed requests for one look at a day of records.

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Add a column that is empty, and an index."""

    dependencies = [("rest", "0002_tenancy")]
    operations = [
        migrations.AddField(
            "idempotencyrecord",
            "cleared_at",
            models.DateTimeField(null=True, help_text="When the resource was deleted, and the answer with it."),
        ),
        migrations.AddIndex(
            "idempotencyrecord",
            models.Index(
                fields=["account", "resource_id"],
                condition=Q(resource_id__isnull=False, cleared_at=None),
                name="ix_idempotency_resource",
            ),
        ),
        migrations.AlterField(
            "idempotencyrecord",
            "body",
            models.BinaryField(null=True, help_text="Sealed under the request: see `kept`."),
        ),
        migrations.AlterField(
            "idempotencyrecord",
            "key",
            models.CharField(max_length=255, help_text="A digest of the caller's key."),
        ),
        migrations.AlterField(
            "idempotencyrecord",
            "fingerprint",
            models.BinaryField(max_length=32, help_text="A digest of the request."),
        ),
        migrations.AlterField(
            "idempotencyrecord",
            "resource_id",
            models.BigIntegerField(null=True, help_text="Accepted work, or what the answer shows."),
        ),
    ]
