"""When a key was used last, and who issued it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add two columns: one is empty, one has a default of the database's own, as earlier releases write none."""

    dependencies = [("accounts", "0006_deletions")]
    operations = [
        migrations.AddField(
            "apikey",
            "used_at",
            models.DateTimeField(null=True, blank=True, editable=False, help_text="Last, to within 15 minutes."),
        ),
        migrations.AddField(
            "apikey",
            "issued_by",
            models.CharField(max_length=120, blank=True, default="", db_default="", editable=False),
        ),
    ]
