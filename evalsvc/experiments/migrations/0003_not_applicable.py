"""Count what a metric does not apply to apart from what failed."""

from pathlib import Path

from django.db import migrations, models

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")
# Older experiments wrote the code as any other error.
SPLIT = """
UPDATE experiments_aggregate a SET n_na = s.n, n_error = a.n_error - s.n
FROM (
  SELECT s.config_id, s.metric, scope.name AS scope, count(*) AS n
  FROM experiments_score s JOIN experiments_config c ON c.id = s.config_id
  CROSS JOIN LATERAL (VALUES
    ('all', true), ('seen', s.pos < c.watermark AND s.pos < c.fresh_from),
    ('prefix', s.pos < c.watermark AND s.pos >= c.fresh_from)) AS scope(name, applies)
  WHERE s.error_code = 'not_applicable' AND scope.applies GROUP BY 1, 2, 3
) s
WHERE a.config_id = s.config_id AND a.metric = s.metric AND a.scope = s.scope
"""


class Migration(migrations.Migration):
    """Add the counts, and the functions that keep them."""

    dependencies = [("experiments", "0002_tenancy")]
    operations = [
        migrations.AddField(
            model_name="aggregate",
            name="n_na",
            field=models.PositiveIntegerField(db_default=0, default=0, help_text="To which the metric does not apply."),
        ),
        migrations.AddField(
            model_name="look",
            name="n_na",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop),
        migrations.RunSQL(SPLIT, migrations.RunSQL.noop),
    ]
