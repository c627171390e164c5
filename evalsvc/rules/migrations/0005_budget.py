"""Budgets of rules. Rules that exist have none."""

from django.db import migrations, models
from django.db.models import Q

REASONS = [
    ("over_cap", "More than the cap of the hour"),
    ("budget", "More than the budget of the day"),
    ("no_output", "Nothing that an evaluator could read"),
    ("unreadable", "Messages that cannot be read"),
    ("invalid", "Refused as an evaluation"),
]


class Migration(migrations.Migration):
    """Add columns."""

    dependencies = [
        ("rules", "0004_source"),
    ]

    operations = [
        migrations.AddField(
            model_name="rule",
            name="budget_per_day",
            field=models.DecimalField(
                decimal_places=6, help_text="Money for its judges a day (UTC).", max_digits=14, null=True
            ),
        ),
        migrations.AddField(model_name="rule", name="n_budget", field=models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField(
            model_name="rulespan",
            name="cost",
            field=models.FloatField(
                help_text="Money for its judges, or what is set aside until it is settled.", null=True
            ),
        ),
        migrations.AddField(
            model_name="rulespan", name="is_settled", field=models.BooleanField(db_default=True, default=True)
        ),
        migrations.AlterField(
            model_name="rulespan",
            name="reason",
            field=models.CharField(choices=REASONS, max_length=12, null=True),
        ),
        migrations.AddIndex(
            model_name="rulespan",
            index=models.Index(condition=Q(is_settled=False), fields=["rule", "id"], name="ix_rulespan_unsettled"),
        ),
    ]
