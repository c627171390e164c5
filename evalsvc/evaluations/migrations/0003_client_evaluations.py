"""Scores that were made elsewhere: their columns, and the function that keeps them."""

from pathlib import Path

from django.db import migrations, models

FUNCTION = (Path(__file__).parent / "sql" / "client.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Tell our own scores from an account's, which may lack a score or a verdict."""

    dependencies = [("evaluations", "0002_tenancy")]
    operations = [
        migrations.AddField(
            model_name="evaluation",
            name="evaluation_type",
            field=models.CharField(
                choices=[
                    ("patronus_evaluation", "Made here"),
                    ("client_evaluation", "Made by the account's own code"),
                ],
                db_default="patronus_evaluation",
                default="patronus_evaluation",
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="details",
            field=models.JSONField(help_text="What only scores made elsewhere have.", null=True),
        ),
        migrations.RemoveConstraint(model_name="evaluation", name="ck_evaluation_score_or_error"),
        migrations.AddConstraint(
            model_name="evaluation",
            constraint=models.CheckConstraint(
                condition=models.Q(status="success", score__isnull=False, passed__isnull=False, error_code=None)
                | (models.Q(status="success", error_code=None) & ~models.Q(evaluation_type="patronus_evaluation"))
                | (~models.Q(status="success") & models.Q(score=None, passed=None, in_history=False)),
                name="ck_evaluation_score_or_error",
            ),
        ),
        migrations.RunSQL(FUNCTION, "DROP FUNCTION keep_client_evaluations"),
    ]
