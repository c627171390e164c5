"""The tags of evaluations in a table of their own, which is read in the order of every search."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

from evalsvc.tenancy.rls import protect

SQL = Path(__file__).parent / "sql"
TAGS, *FUNCTIONS = ((SQL / name).read_text(encoding="utf-8") for name in ("tags.sql", "functions.sql", "client.sql"))
COPY = """
INSERT INTO evaluations_evaluationtag (account_id, evaluation_id, digest, created_at)
SELECT e.account_id, e.id, tag_digest(e.account_id, tag.key, tag.value), e.created_at
FROM evaluations_evaluationrequest q
CROSS JOIN LATERAL jsonb_each_text(CASE WHEN jsonb_typeof(q.tags) = 'object' THEN q.tags END) tag
JOIN evaluations_evaluation e ON e.request_id = q.id AND e.account_id = q.account_id
WHERE q.tags IS NOT NULL AND e.captured
ON CONFLICT DO NOTHING
"""
# As the history's: rows that vacuum has not seen cost an index-only scan a look at the table each.
STORAGE = """
ALTER TABLE evaluations_evaluationtag SET (
  autovacuum_vacuum_insert_threshold = 50000, autovacuum_vacuum_insert_scale_factor = 0)
"""


class Migration(migrations.Migration):
    """Make the table, fill it, index it, and let the functions write it; the index that it replaces goes."""

    dependencies = [
        ("accounts", "0002_tenancy"),
        ("evaluations", "0005_batches"),
    ]

    operations = [
        migrations.CreateModel(
            name="EvaluationTag",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "evaluation_id",
                        "digest",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("digest", models.BigIntegerField(help_text="tag_digest(account, key, value)")),
                ("created_at", models.DateTimeField(help_text="The evaluation's.")),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="evaluations.evaluation",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(TAGS, migrations.RunSQL.noop),
        migrations.RunSQL(COPY, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="evaluationtag",
            index=models.Index(
                fields=["account", "digest", "-created_at", "-evaluation"], name="ix_evaluationtag_newest"
            ),
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        protect("evaluations_evaluationtag"),
        *(migrations.RunSQL(function, migrations.RunSQL.noop) for function in FUNCTIONS),
        migrations.RemoveIndex(model_name="evaluationrequest", name="ix_request_tags"),
        migrations.RunSQL("DROP FUNCTION IF EXISTS tagged_requests; DROP FUNCTION tag_digests", migrations.RunSQL.noop),
    ]
