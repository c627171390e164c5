"""Benchmarks and their executions, with their policies."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make both tables."""

    initial = True
    dependencies = [
        ("accounts", "0003_retention"),
        ("datasets", "0003_passages"),
        ("projects", "0004_imported"),
        # The database makes ids by a function of theirs.
        ("evaluations", "0029_pending_answered"),
    ]
    operations = [
        migrations.CreateModel(
            name="Benchmark",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("description", models.TextField(blank=True)),
                (
                    "plan",
                    models.JSONField(help_text="As it was asked for, with the number of the dataset version."),
                ),
                (
                    "logic",
                    models.JSONField(
                        help_text="What that was resolved to: evaluators, profile revisions, digests of prompts."
                    ),
                ),
                (
                    "digest",
                    models.CharField(help_text="SHA-256 of the logic and of the examples' content.", max_length=64),
                ),
                ("n_executions", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("account", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="accounts.account")),
                (
                    "dataset_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="datasets.datasetversion"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("account", "name"), name="uq_benchmark_name")],
            },
        ),
        migrations.CreateModel(
            name="Execution",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False
                    ),
                ),
                ("number", models.PositiveIntegerField(help_text="1 for the first.")),
                ("digest", models.CharField(help_text="Of the logic that it was measured by.", max_length=64)),
                (
                    "drift",
                    models.JSONField(
                        help_text="What of the logic differed from the benchmark's; an empty list for nothing."
                    ),
                ),
                ("task_version", models.CharField(max_length=200, null=True)),
                ("model", models.CharField(max_length=200, null=True)),
                ("environment", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("account", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="accounts.account")),
                (
                    "benchmark",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="executions",
                        to="benchmarks.benchmark",
                    ),
                ),
                (
                    "experiment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="execution",
                        to="projects.experiment",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["account", "benchmark", "-id"], name="ix_execution_newest")],
                "constraints": [
                    models.UniqueConstraint(fields=("benchmark", "number"), name="uq_execution_number")
                ],
            },
        ),
        protect("benchmarks_benchmark"),
        protect("benchmarks_execution"),
    ]
