"""Pipelines: the outputs of stages that configs share, how each output came about, and what that took."""

from __future__ import annotations

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Add a table, and columns that old code may leave out."""

    dependencies = [("experiments", "0012_isolated")]
    operations = [
        migrations.AlterField(
            model_name="config",
            name="kind",
            field=models.CharField(
                choices=[
                    ("chat", "A prompt to a connection"),
                    ("http", "The account's own application"),
                    ("push", "The caller's own code"),
                    ("pipeline", "Nodes that read each other"),
                ],
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="config",
            name="n_calls",
            field=models.PositiveSmallIntegerField(
                db_default=1, default=1, help_text="Queries that one output may take."
            ),
        ),
        migrations.AddField(
            model_name="config",
            name="n_asked",
            field=models.BigIntegerField(db_default=0, default=0, help_text="Queries of a pipeline's nodes."),
        ),
        migrations.AddField(
            model_name="config",
            name="n_saved",
            field=models.BigIntegerField(
                db_default=0, default=0, help_text="Such queries that another had asked already."
            ),
        ),
        migrations.AddField(
            model_name="experimentplan",
            name="modes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=20), help_text="Null: integrated only.", null=True, size=None
            ),
        ),
        migrations.AddField(
            model_name="output",
            name="stages",
            field=models.JSONField(
                help_text="Of a pipeline: how each node came by its output, and what was paid.", null=True
            ),
        ),
        migrations.CreateModel(
            name="StageOutput",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        help_text="Digest of the question, and of all that makes the answer.", max_length=64
                    ),
                ),
                ("config_id", models.BigIntegerField()),
                ("pos", models.PositiveIntegerField()),
                ("unit_id", models.BigIntegerField()),
                ("token", models.UUIDField(help_text="Of the unit's lease.")),
                ("output", models.JSONField(null=True)),
                ("latency_ms", models.FloatField(null=True)),
                ("input_tokens", models.PositiveIntegerField(null=True)),
                ("output_tokens", models.PositiveIntegerField(null=True)),
                ("cost", models.FloatField(null=True)),
                ("created_at", models.DateTimeField(db_default=Now())),
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="projects.experiment"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("experiment", "key"), name="uq_stage_once")],
            },
        ),
        protect("experiments_stageoutput"),
    ]
