"""Metrics that are added to stored outputs, and what a score says beside its number."""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from evalsvc.tenancy.rls import protect

SQL = Path(__file__).parent / "sql"
# What an earlier installation has takes one argument less, and both would answer to the same call.
OLD = "DROP FUNCTION IF EXISTS add_scores(bigint, bigint, text, int, int)"
NEW = [(SQL / name).read_text(encoding="utf-8") for name in ("functions.sql", "additions.sql")]
DROP = """
DROP FUNCTION record_added_scores; DROP FUNCTION close_added_unit; DROP FUNCTION advance_addition;
DROP FUNCTION open_added_units; DROP FUNCTION planned_metrics;
"""


class Migration(migrations.Migration):
    """Add the tables, then the functions that write them."""

    dependencies = [
        ("accounts", "0002_tenancy"),
        ("experiments", "0005_comparisons"),
        ("projects", "0003_created_by"),
    ]
    operations = [
        migrations.CreateModel(
            name="Addition",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "experiment_id", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
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
                    "experiment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="additions",
                        to="projects.experiment",
                    ),
                ),
                (
                    "number",
                    models.PositiveSmallIntegerField(
                        help_text="1 for the first; 0 are the metrics of the plan itself."
                    ),
                ),
                (
                    "names",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None),
                ),
                (
                    "by_caller",
                    models.BooleanField(
                        help_text="The caller sends the numbers; workers note only what has no output."
                    ),
                ),
                ("unit_size", models.PositiveSmallIntegerField(help_text="How many outputs a worker scores at once.")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name="AdditionMark",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "config_id", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
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
                    "config",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="addition_marks",
                        to="experiments.config",
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("watermark", models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="workunit",
            name="uq_unit_once",
        ),
        migrations.RemoveIndex(
            model_name="workunit",
            name="ix_unit_unfinished",
        ),
        migrations.AddField(
            model_name="score",
            name="extra",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="score",
            name="judge_cost",
            field=models.FloatField(
                help_text="Of the run that it comes from; once where metrics share one.", null=True
            ),
        ),
        migrations.AddField(
            model_name="score",
            name="spans",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="workunit",
            name="addition",
            field=models.PositiveSmallIntegerField(
                db_default=0, default=0, help_text="Which metrics: 0 are the plan's."
            ),
        ),
        migrations.AddIndex(
            model_name="workunit",
            index=models.Index(
                condition=models.Q(("state", "done"), _negated=True),
                fields=["config", "addition", "from_pos"],
                name="ix_unit_unfinished",
            ),
        ),
        migrations.AddIndex(
            model_name="workunit",
            index=models.Index(
                condition=models.Q(("state", "scoring")), fields=["addition", "id"], name="ix_unit_scoring"
            ),
        ),
        migrations.AddConstraint(
            model_name="score",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("judge_cost", None),
                    models.Q(("judge_cost__gt", float("-inf")), ("judge_cost__lt", float("inf"))),
                    _connector="OR",
                ),
                name="ck_score_cost_is_finite",
            ),
        ),
        migrations.AddConstraint(
            model_name="workunit",
            constraint=models.UniqueConstraint(fields=("config", "addition", "from_pos"), name="uq_unit_once"),
        ),
        protect("experiments_addition"),
        protect("experiments_additionmark"),
        migrations.RunSQL(OLD, migrations.RunSQL.noop),
        migrations.RunSQL(NEW[0], migrations.RunSQL.noop),
        migrations.RunSQL(NEW[1], DROP),
    ]
