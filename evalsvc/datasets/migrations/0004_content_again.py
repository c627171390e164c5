"""A later version may hold what an earlier one does: an edit that is undone is a version too."""

from django.db import migrations


class Migration(migrations.Migration):
    """Let go of the rule; code of the version before, which looks for such a version itself, runs on."""

    dependencies = [("datasets", "0003_passages")]
    operations = [
        migrations.RemoveConstraint("datasetversion", "uq_dataset_version_content"),
    ]
