"""Retries: what failed is tried again, and what stood there first is kept."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Add the table and the columns; rows of before have no retry."""

    dependencies = [
        ("accounts", "0006_deletions"),
        ("experiments", "0015_pipelines"),
        ("projects", "0003_created_by"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="basis",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Outputs of both that retries had changed when its sums were begun."
            ),
        ),
        migrations.AddField(
            model_name="config",
            name="n_retried",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="How often retries have changed its outputs."
            ),
        ),
        migrations.AddField(
            model_name="output",
            name="first_error",
            field=models.CharField(help_text="What its first answer failed by.", max_length=40, null=True),
        ),
        migrations.AddField(
            model_name="output",
            name="retry",
            field=models.PositiveSmallIntegerField(
                help_text="Number of the last retry that has changed it.", null=True
            ),
        ),
        migrations.AddField(
            model_name="score",
            name="first",
            field=models.JSONField(
                help_text="What stood here before the first retry: value and error_code.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="workunit",
            name="addition",
            field=models.PositiveSmallIntegerField(
                db_default=0, default=0, help_text="Which metrics: 0 are the plan's; or a retry."
            ),
        ),
        migrations.CreateModel(
            name="Retry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "experiment_id", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.PositiveSmallIntegerField(help_text="1 for the first.")),
                (
                    "what",
                    models.CharField(
                        choices=[("outputs", "Outputs are asked for again"), ("scores", "Outputs are scored again")],
                        max_length=10,
                    ),
                ),
                (
                    "error_types",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40),
                        help_text="Null: whatever has failed.",
                        null=True,
                        size=None,
                    ),
                ),
                ("n_outputs", models.PositiveIntegerField(help_text="How many outputs it is about.")),
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
                (
                    "experiment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="retries",
                        to="projects.experiment",
                    ),
                ),
            ],
        ),
        protect("experiments_retry"),
    ]
