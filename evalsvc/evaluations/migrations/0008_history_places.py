"""Histories know where each score belongs, and their key is what was judged: the shape that partitions by id."""

from pathlib import Path

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import evalsvc.tenancy.fields
import evalsvc.tenancy.scope

SQL = Path(__file__).parent / "sql"
FUNCTIONS = [(SQL / name).read_text(encoding="utf-8") for name in ("functions.sql", "client.sql")]
TABLE = """
ALTER TABLE evaluations_historyscore
  ADD COLUMN revision integer, ADD COLUMN app varchar(50), ADD COLUMN project_id uuid, ADD COLUMN experiment_id bigint,
  ADD COLUMN config_id bigint, ADD COLUMN output_id bigint, ADD COLUMN trial boolean NOT NULL DEFAULT false,
  DROP CONSTRAINT uq_history_once_per_source, DROP CONSTRAINT evaluations_historyscore_pkey;
DROP INDEX ix_history_latest;
DROP INDEX ix_history_xact;
ALTER TABLE evaluations_historyscore ADD CONSTRAINT pk_history
  PRIMARY KEY (account_id, evaluator_id, profile_name, trial, id) INCLUDE (score, passed, revision, source);
"""
# They answer with more than those before them.
DROP = """
DROP FUNCTION IF EXISTS latest_scores(bigint, text[], text[], text[], bigint);
DROP FUNCTION IF EXISTS capture_evaluations(bigint, jsonb, jsonb, double precision, text[], text[], text[]);
"""
COVERED = ("score", "passed", "revision", "source")
NAMES = ["account", "evaluator_id", "profile_name"]
STATE = [
    migrations.DeleteModel("HistoryScore"),
    migrations.CreateModel(
        name="HistoryScore",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "account_id",
                    "evaluator_id",
                    "profile_name",
                    "trial",
                    "id",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("id", models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId())),
            ("evaluator_id", models.CharField(max_length=100)),
            ("profile_name", models.CharField(max_length=120)),
            (
                "revision",
                models.IntegerField(help_text="Of the profile: by which threshold `passed` was judged.", null=True),
            ),
            ("score", models.FloatField()),
            ("passed", models.BooleanField(null=True)),
            (
                "source",
                models.CharField(
                    choices=[("evaluation", "Evaluation"), ("experiment", "Experiment"), ("import", "Import")],
                    max_length=10,
                ),
            ),
            ("source_id", models.BigIntegerField(help_text="The evaluation or the output.")),
            (
                "trial",
                models.BooleanField(
                    db_default=False,
                    default=False,
                    help_text="Of an experiment's config that has not been promoted.",
                ),
            ),
            ("app", models.CharField(max_length=50, null=True)),
            ("project_id", models.UUIDField(null=True)),
            ("experiment_id", models.BigIntegerField(null=True)),
            ("config_id", models.BigIntegerField(null=True)),
            ("output_id", models.BigIntegerField(null=True)),
            (
                "xact",
                evalsvc.tenancy.fields.XactField(db_default=evalsvc.tenancy.fields.CurrentXact(), editable=False),
            ),
            ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            (
                "account",
                models.ForeignKey(
                    db_constraint=False,
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    to="accounts.account",
                ),
            ),
        ],
        options={
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(("score__gt", float("-inf")), ("score__lt", float("inf"))),
                    name="ck_history_score_finite",
                )
            ],
        },
    ),
]


class Migration(migrations.Migration):
    """Add the columns, change the key, and let the functions write and read them."""

    dependencies = [
        ("accounts", "0002_tenancy"),
        ("evaluations", "0007_living_projects"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState([migrations.RunSQL(TABLE, migrations.RunSQL.noop)], STATE),
        migrations.AddIndex(
            "historyscore",
            models.Index(fields=[*NAMES, "xact"], name="ix_history_xact", condition=models.Q(("trial", False))),
        ),
        migrations.AddIndex(
            "historyscore",
            models.Index(
                fields=[*NAMES, "app", "id"],
                include=COVERED,
                name="ix_history_app",
                condition=models.Q(("app__isnull", False)),
            ),
        ),
        migrations.AddIndex(
            "historyscore",
            models.Index(
                fields=[*NAMES, "project_id", "trial", "id"],
                include=COVERED,
                name="ix_history_project",
                condition=models.Q(("project_id__isnull", False)),
            ),
        ),
        migrations.AddIndex(
            "historyscore",
            models.Index(
                fields=[*NAMES, "experiment_id", "trial", "id"],
                include=COVERED,
                name="ix_history_experiment",
                condition=models.Q(("experiment_id__isnull", False)),
            ),
        ),
        migrations.RunSQL(DROP, migrations.RunSQL.noop),
        *(migrations.RunSQL(function, migrations.RunSQL.noop) for function in FUNCTIONS),
    ]
