"""A score of the service may have no verdict: its profile has no threshold."""

from django.db import migrations, models
from django.db.models import Q

NAME = "ck_evaluation_score_or_error"
WIDEN = """
ALTER TABLE evaluations_evaluation DROP CONSTRAINT ck_evaluation_score_or_error,
  ADD CONSTRAINT ck_evaluation_score_or_error CHECK (
    (status = 'success' AND score IS NOT NULL AND error_code IS NULL)
    OR (status = 'success' AND error_code IS NULL AND evaluation_type <> 'patronus_evaluation')
    OR (status <> 'success' AND score IS NULL AND passed IS NULL AND NOT in_history)) NOT VALID
"""
NARROW = """
ALTER TABLE evaluations_evaluation DROP CONSTRAINT ck_evaluation_score_or_error,
  ADD CONSTRAINT ck_evaluation_score_or_error CHECK (
    (status = 'success' AND score IS NOT NULL AND passed IS NOT NULL AND error_code IS NULL)
    OR (status = 'success' AND error_code IS NULL AND evaluation_type <> 'patronus_evaluation')
    OR (status <> 'success' AND score IS NULL AND passed IS NULL AND NOT in_history)) NOT VALID
"""
VALIDATE = "ALTER TABLE evaluations_evaluation VALIDATE CONSTRAINT ck_evaluation_score_or_error"


class Migration(migrations.Migration):
    """Replace the constraint with a wider one; rows that met the former one are read beside the traffic."""

    atomic = False
    dependencies = [("evaluations", "0032_saved_searches")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(WIDEN, NARROW),
                migrations.RunSQL(VALIDATE, migrations.RunSQL.noop),
            ],
            [
                migrations.RemoveConstraint("evaluation", NAME),
                migrations.AddConstraint(
                    "evaluation",
                    models.CheckConstraint(
                        condition=Q(status="success", score__isnull=False, error_code=None)
                        | (Q(status="success", error_code=None) & ~Q(evaluation_type="patronus_evaluation"))
                        | (~Q(status="success") & Q(score=None, passed=None, in_history=False)),
                        name=NAME,
                    ),
                ),
            ],
        )
    ]
