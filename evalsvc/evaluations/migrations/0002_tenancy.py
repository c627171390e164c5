"""Row-level security, the write paths as functions, and the vacuum setting that keeps the history index-only."""

from pathlib import Path

from django.db import migrations

from evalsvc.tenancy.rls import protect

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")
DROP = """
DROP FUNCTION finish_evaluations; DROP FUNCTION lease_evaluations;
DROP FUNCTION IF EXISTS capture_batch; DROP FUNCTION capture_evaluations; DROP FUNCTION IF EXISTS keep_evaluations;
DROP FUNCTION latest_scores;
"""
# Rows that vacuum has not seen cost a heap fetch each; by default an insert-only table waits far too long for it.
STORAGE = """
ALTER TABLE evaluations_historyscore SET (
  autovacuum_vacuum_insert_threshold = 50000, autovacuum_vacuum_insert_scale_factor = 0);
ALTER TABLE evaluations_evaluation SET (fillfactor = 90);
"""


class Migration(migrations.Migration):
    """Protect the tables and add the functions."""

    dependencies = [("evaluations", "0001_initial")]
    operations = [
        protect("evaluations_evaluationrequest"),
        protect("evaluations_evaluation"),
        protect("evaluations_historyscore"),
        migrations.RunSQL(FUNCTIONS, DROP),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
    ]
