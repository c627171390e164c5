"""Comparisons on all common examples, what has ended and is not all counted, and looks for new data and this set."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from evalsvc.tenancy.rls import protect

# Looks follow from the scores, and older ones were about this set only: the planner writes them anew, as it counts what
# had ended before its last answers were.
OLD_LOOKS = "DELETE FROM experiments_look"
STORAGE = "ALTER TABLE experiments_comparison SET (fillfactor = 50)"


class Migration(migrations.Migration):
    """Add them."""

    dependencies = [("experiments", "0004_history")]
    operations = [
        migrations.CreateModel(
            name="Comparison",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("upto", models.PositiveIntegerField(help_text="Positions before it are counted.")),
                ("n", models.PositiveIntegerField(help_text="Examples that both have scored.")),
                ("total", models.FloatField()),
                ("squares", models.FloatField()),
                ("n_plus", models.PositiveIntegerField()),
                ("n_minus", models.PositiveIntegerField()),
                ("n_missing", models.PositiveIntegerField(help_text="Examples of which a score is missing.")),
                ("missing_low", models.FloatField(help_text="Least that the differences there can add up to.")),
                ("missing_high", models.FloatField()),
                (
                    "log_better",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), help_text="Empty for a metric without a range.", size=None
                    ),
                ),
                ("log_worse", django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), size=None)),
            ],
        ),
        migrations.AddField(
            model_name="experimentplan",
            name="is_closed",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="It has ended, nothing is on its way, and all of it is counted.",
            ),
        ),
        migrations.AddField(
            model_name="look",
            name="set_lower",
            field=models.FloatField(help_text="For this set.", null=True),
        ),
        migrations.AddField(
            model_name="look",
            name="set_upper",
            field=models.FloatField(null=True),
        ),
        migrations.AlterField(
            model_name="look",
            name="lower",
            field=models.FloatField(help_text="For new data.", null=True),
        ),
        migrations.AddIndex(
            model_name="experimentplan",
            index=models.Index(
                condition=models.Q(("is_closed", False), models.Q(("state", "draft"), _negated=True)),
                fields=["account"],
                name="ix_plan_open",
            ),
        ),
        migrations.AddField(
            model_name="comparison",
            name="account",
            field=models.ForeignKey(
                db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
            ),
        ),
        migrations.AddField(
            model_name="comparison",
            name="experiment",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="comparisons", to="projects.experiment"
            ),
        ),
        migrations.AddField(
            model_name="comparison",
            name="first",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="experiments.config"
            ),
        ),
        migrations.AddField(
            model_name="comparison",
            name="second",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="experiments.config"
            ),
        ),
        migrations.AddConstraint(
            model_name="comparison",
            constraint=models.UniqueConstraint(fields=("experiment", "first", "second"), name="uq_comparison"),
        ),
        protect("experiments_comparison"),
        migrations.RunSQL(OLD_LOOKS, migrations.RunSQL.noop),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
    ]
