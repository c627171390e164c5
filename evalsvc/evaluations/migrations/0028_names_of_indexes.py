"""Partitions are made and dropped whatever the names of the indexes that somebody has added."""

from pathlib import Path

from django.db import migrations

PARTITIONS = (Path(__file__).parent / "sql" / "partitions.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Replace the functions."""

    dependencies = [("evaluations", "0027_pruned_is_the_systems")]
    operations = [migrations.RunSQL(PARTITIONS, migrations.RunSQL.noop)]
