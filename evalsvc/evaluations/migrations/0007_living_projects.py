"""Evaluations are kept in projects that are there: what is captured while its project is deleted is in none."""

from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")
# What was kept by a race of earlier versions.
MEND = """
WITH gone AS (
  SELECT DISTINCT account_id, project_id FROM evaluations_evaluationrequest q
  WHERE project_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM projects_project p WHERE p.account_id = q.account_id AND p.id = q.project_id)
), requests AS (
  UPDATE evaluations_evaluationrequest q SET project_id = NULL FROM gone
  WHERE q.account_id = gone.account_id AND q.project_id = gone.project_id
)
UPDATE evaluations_evaluation e SET project_id = NULL FROM gone
WHERE e.account_id = gone.account_id AND e.project_id = gone.project_id
"""


class Migration(migrations.Migration):
    """Replace the functions that write evaluations."""

    dependencies = [("evaluations", "0006_tags"), ("projects", "0003_created_by")]

    operations = [
        migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop),
        migrations.RunSQL(MEND, migrations.RunSQL.noop),
    ]
