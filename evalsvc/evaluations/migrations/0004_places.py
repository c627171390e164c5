"""Where an evaluation belongs, in its own row and indexed in the order of every search; favourites and feedback."""

from pathlib import Path

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models

SQL = Path(__file__).parent / "sql"
SEARCH = (SQL / "search.sql").read_text(encoding="utf-8")
FUNCTIONS = [(SQL / name).read_text(encoding="utf-8") for name in ("functions.sql", "client.sql")]
COPY = """
UPDATE evaluations_evaluation e SET project_id = q.project_id, app = q.app, experiment_id = q.experiment_id,
  dataset_id = q.dataset_id, log_id = q.log_id, trace_id = q.trace_id
FROM evaluations_evaluationrequest q WHERE q.id = e.request_id AND q.account_id = e.account_id
"""


class Migration(migrations.Migration):
    """Copy the request's columns, then index them, then let the functions write them."""

    dependencies = [
        ("accounts", "0002_tenancy"),
        ("evaluations", "0003_client_evaluations"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="evaluation",
            name="ix_evaluation_account",
        ),
        migrations.AddField(
            model_name="evaluation",
            name="app",
            field=models.CharField(max_length=50, null=True),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="dataset_id",
            field=models.CharField(max_length=255, null=True),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="experiment_id",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="favorite",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="feedback",
            field=models.CharField(choices=[("positive", "Right"), ("negative", "Wrong")], max_length=10, null=True),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="log_id",
            field=models.CharField(max_length=255, null=True),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="project_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="trace_id",
            field=models.CharField(max_length=255, null=True),
        ),
        migrations.AlterField(
            model_name="evaluation",
            name="evaluation_type",
            field=models.CharField(
                choices=[
                    ("patronus_evaluation", "Made here"),
                    ("client_evaluation", "Made by the account's own code"),
                    ("annotation", "Made by a person"),
                ],
                db_default="patronus_evaluation",
                default="patronus_evaluation",
                max_length=20,
            ),
        ),
        migrations.RunSQL(COPY, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True)),
                fields=["account", "-created_at", "-id"],
                name="ix_evaluation_account",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True)),
                fields=["account", "evaluator_id", "-created_at", "-id"],
                include=["passed"],
                name="ix_evaluation_evaluator_id",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True)),
                fields=["account", "family", "-created_at", "-id"],
                include=["passed"],
                name="ix_evaluation_family",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True)),
                fields=["account", "profile_name", "-created_at", "-id"],
                include=["passed"],
                name="ix_evaluation_profile_name",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True), ("profile_id__isnull", False)),
                fields=["account", "profile_id", "-created_at", "-id"],
                include=["passed"],
                name="ix_evaluation_profile_id",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True), ("project_id__isnull", False)),
                fields=["account", "project_id", "-created_at", "-id"],
                include=["passed"],
                name="ix_evaluation_project_id",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True), ("app__isnull", False)),
                fields=["account", "app", "-created_at", "-id"],
                include=["passed"],
                name="ix_evaluation_app",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True), ("experiment_id__isnull", False)),
                fields=["account", "experiment_id", "-created_at", "-id"],
                include=["passed"],
                name="ix_evaluation_experiment_id",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True), ("dataset_id__isnull", False)),
                fields=["account", "dataset_id", "-created_at", "-id"],
                include=["passed"],
                name="ix_evaluation_dataset_id",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True), ("log_id__isnull", False)),
                fields=["account", "log_id", "-created_at", "-id"],
                name="ix_evaluation_log_id",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True), ("trace_id__isnull", False)),
                fields=["account", "trace_id", "-created_at", "-id"],
                name="ix_evaluation_trace_id",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True), ("feedback__isnull", False)),
                fields=["account", "feedback", "-created_at", "-id"],
                name="ix_evaluation_feedback",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True), ("passed", False)),
                fields=["account", "-created_at", "-id"],
                name="ix_evaluation_failed",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(
                    ("captured", True), models.Q(("evaluation_type", "patronus_evaluation"), _negated=True)
                ),
                fields=["account", "evaluation_type", "-created_at", "-id"],
                name="ix_evaluation_type",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                condition=models.Q(("captured", True), ("favorite", True)),
                fields=["account", "-created_at", "-id"],
                name="ix_evaluation_favorite",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluationrequest",
            index=models.Index(
                condition=models.Q(("tags__isnull", False)), fields=["account", "-id"], name="ix_request_tagged"
            ),
        ),
        migrations.RunSQL(SEARCH, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="evaluationrequest",
            index=GinIndex(
                models.Func(models.F("account_id"), models.F("tags"), function="tag_digests"),
                name="ix_request_tags",
                condition=models.Q(("tags__isnull", False)),
            ),
        ),
        *(migrations.RunSQL(function, migrations.RunSQL.noop) for function in FUNCTIONS),
    ]
