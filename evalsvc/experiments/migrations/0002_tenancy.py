"""Row-level security, and the write paths as functions."""

from pathlib import Path

from django.db import migrations

from evalsvc.tenancy.rls import protect

# Unchecked: today's file may name columns that only a later migration adds, which then installs it again.
FUNCTIONS = "SET LOCAL check_function_bodies = off;\n"
FUNCTIONS += (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")
DROP = """
DROP FUNCTION record_unit; DROP FUNCTION add_scores; DROP FUNCTION lease_unit; DROP FUNCTION claim_units;
DROP FUNCTION take_unit; DROP FUNCTION within_budget; DROP FUNCTION IF EXISTS add_between;
DROP FUNCTION IF EXISTS add_sums; DROP FUNCTION IF EXISTS sums_of_scores;
"""
# Counters and states of a few rows change all the time: room on their pages keeps their indexes out of it.
STORAGE = """
ALTER TABLE experiments_config SET (fillfactor = 50);
ALTER TABLE experiments_aggregate SET (fillfactor = 50);
ALTER TABLE experiments_evidence SET (fillfactor = 50);
ALTER TABLE experiments_workunit SET (fillfactor = 80);
"""
TABLES = ("experimentplan", "experimentitem", "config", "workunit", "output", "score")
TABLES += ("aggregate", "look", "evidence", "decision", "controlop")


class Migration(migrations.Migration):
    """Protect the tables and add the functions."""

    dependencies = [("experiments", "0001_initial"), ("evaluations", "0002_tenancy")]
    operations = [
        *(protect(f"experiments_{table}") for table in TABLES),
        migrations.RunSQL(FUNCTIONS, DROP),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
    ]
