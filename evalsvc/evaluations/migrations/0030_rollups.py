"""Counts by day, and the triggers that keep them. What was there before is counted by the first fold."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

import evalsvc.tenancy.fields
import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import Statements, protect

TRIGGERS = (Path(__file__).parent / "sql" / "rollups.sql").read_text(encoding="utf-8")
DROP = """
DROP TRIGGER note_rollups_in ON evaluations_evaluation;
DROP TRIGGER note_rollups_out ON evaluations_evaluation;
DROP TRIGGER note_rollups_change ON evaluations_evaluation;
"""


def make_triggers(editor: BaseDatabaseSchemaEditor) -> None:
    """Make the triggers, with the functions that they call until this version's are installed."""
    editor.execute(TRIGGERS, params=None)


def drop_triggers(editor: BaseDatabaseSchemaEditor) -> None:
    """Drop the triggers; the functions stay."""
    editor.execute(DROP, params=None)


def counted() -> list[tuple[str, models.Field]]:
    """Return the columns that both tables have."""
    account = models.ForeignKey(
        db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
    )
    return [
        ("account", account),
        ("day", models.DateField(help_text="Of the evaluations' time, by UTC.")),
        ("arrived", models.DateField(help_text="First day of the month of their ids, and so of their partition.")),
        ("app", models.CharField(max_length=50)),
        ("evaluator_id", models.CharField(max_length=100)),
        ("profile_name", models.CharField(max_length=120)),
        ("error_code", models.CharField(max_length=40)),
        ("n", models.BigIntegerField()),
        (
            "n_scored",
            models.BigIntegerField(help_text="Of them those in the history. Only of these are the counts and sums."),
        ),
        ("n_pass", models.BigIntegerField()),
        ("n_fail", models.BigIntegerField()),
        ("total", evalsvc.tenancy.fields.ExactField(help_text="Sum of the scores.")),
        ("squares", evalsvc.tenancy.fields.ExactField(help_text="Sum of their squares.")),
    ]


class Migration(migrations.Migration):
    """Make the tables and the triggers."""

    dependencies = [("accounts", "0006_deletions"), ("evaluations", "0029_pending_answered")]

    operations = [
        migrations.CreateModel(
            "DailyRollup",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                *counted(),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "day", "evaluator_id", "profile_name", "app", "error_code", "arrived"),
                        name="uq_dailyrollup",
                    )
                ]
            },
        ),
        migrations.CreateModel(
            "RollupDelta",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId())),
                *counted(),
            ],
        ),
        protect("evaluations_dailyrollup"),
        protect("evaluations_rollupdelta"),
        Statements(make_triggers, drop_triggers),
    ]
