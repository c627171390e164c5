"""What experiments tell histories: every score at once as a trial; a config's for good when it is promoted."""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

from evalsvc.evaluations.maintenance.repair import ITS, LAST, SAME, WALK, fill

# Rows of a score; an output had one for each metric that read it, and the first of them gets its id.
FILL = f"""
WITH {WALK}, known AS (
  SELECT p.*, o.id AS output_id, o.config_id, o.experiment_id, o.created_at AS made_at, e.project_id,
    (SELECT (m.row ->> 'profile_revision')::int FROM experiments_experimentplan plan
     CROSS JOIN LATERAL jsonb_array_elements(plan.metrics) AS m(row)
     WHERE plan.experiment_id = o.experiment_id AND m.row ->> 'name' = s.metric) AS revision
  FROM portion p JOIN experiments_score s ON s.id = p.source_id AND s.account_id = p.account_id
  JOIN experiments_output o ON o.config_id = s.config_id AND o.pos = s.pos
  JOIN projects_experiment e ON e.id = o.experiment_id
  WHERE p.source = 'experiment'
), placed AS (
  SELECT k.*, row_number() OVER (
    PARTITION BY k.account_id, k.evaluator_id, k.profile_name, k.output_id ORDER BY k.id) AS place FROM known k
), filled AS (
  UPDATE evaluations_historyscore h SET
    id = CASE WHEN p.place > 1 OR EXISTS (
      SELECT 1 FROM evaluations_historyscore o WHERE (o.account_id, o.evaluator_id, o.profile_name, o.id)
        = (p.account_id, p.evaluator_id, p.profile_name, p.output_id) AND o.trial IN (false, true)) THEN h.id
      ELSE p.output_id END,
    source_id = p.output_id, output_id = p.output_id, config_id = p.config_id, experiment_id = p.experiment_id,
    project_id = p.project_id, revision = p.revision, trial = true, created_at = p.made_at
  FROM placed p WHERE ({SAME}) = ({ITS}) AND h.output_id IS NULL
), orphaned AS (
  -- Its experiment is deleted: nobody knows any more whether it was the best one.
  UPDATE evaluations_historyscore h SET trial = true
  FROM portion p WHERE ({SAME}) = ({ITS}) AND p.source = 'experiment' AND h.output_id IS NULL AND NOT h.trial
    AND NOT EXISTS (SELECT 1 FROM known k WHERE (k.account_id, k.id) = (p.account_id, p.id))
)
{LAST}
"""  # noqa: S608  # nosec B608  names are ours


def fill_trials(connection: BaseDatabaseWrapper) -> None:
    """Let every row of an experiment that older versions wrote know its output, its config and that it was a trial."""
    fill(connection, sql=FILL)
