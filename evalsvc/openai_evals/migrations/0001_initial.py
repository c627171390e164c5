"""Evals, their runs and files, with their policies."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect


def id_field() -> models.BigIntegerField:
    """Return a primary key that the database makes."""
    return models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)


def moment_field() -> models.DateTimeField:
    """Return a time that the database sets."""
    return models.DateTimeField(db_default=django.db.models.functions.datetime.Now())


def account_field() -> models.ForeignKey:
    """Return the account of a row."""
    return models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="accounts.account")


class Migration(migrations.Migration):
    """Make the tables."""

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
            name="Eval",
            fields=[
                ("id", id_field()),
                ("name", models.CharField(blank=True, max_length=255)),
                ("metadata", models.JSONField(null=True)),
                ("data_source_config", models.JSONField(help_text="As it was sent.")),
                ("criteria", models.JSONField(help_text="As they were sent, each with its id.")),
                (
                    "metrics",
                    models.JSONField(help_text="For each criterion the name of its metric and its profile."),
                ),
                ("created_at", moment_field()),
                ("updated_at", moment_field()),
                ("account", account_field()),
                (
                    "dataset",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="datasets.dataset",
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["account", "updated_at", "id"], name="ix_eval_updated")]},
        ),
        migrations.CreateModel(
            name="EvalFile",
            fields=[
                ("id", id_field()),
                ("filename", models.CharField(max_length=255)),
                ("n_bytes", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
                ("expires_at", models.DateTimeField(null=True)),
                ("created_at", moment_field()),
                ("account", account_field()),
            ],
        ),
        migrations.CreateModel(
            name="EvalRun",
            fields=[
                ("id", id_field()),
                ("name", models.CharField(blank=True, max_length=255)),
                ("metadata", models.JSONField(null=True)),
                (
                    "data_source",
                    models.JSONField(help_text="As it was sent; many rows are a file instead."),
                ),
                ("created_at", moment_field()),
                (
                    "file",
                    models.ForeignKey(
                        help_text="Of many rows; it goes with the run.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="openai_evals.evalfile",
                    ),
                ),
                ("account", account_field()),
                (
                    "eval",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="openai_evals.eval"
                    ),
                ),
                (
                    "experiment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="eval_run", to="projects.experiment"
                    ),
                ),
            ],
        ),
        protect("openai_evals_eval"),
        protect("openai_evals_evalrun"),
        protect("openai_evals_evalfile"),
    ]
