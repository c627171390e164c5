"""Rows of histories know their sample by a hash of its content, and the batch that they came with."""

from django.db import migrations, models

SAMPLE = "Of input, gold answer and contexts."
BATCH = "Of the batch call or upload; null for a single call."


class Migration(migrations.Migration):
    """Add two columns that are null for the rows that are there."""

    dependencies = [("evaluations", "0033_no_verdict")]
    operations = [
        migrations.AddField("evaluationrequest", "sample_hash", models.BigIntegerField(help_text=SAMPLE, null=True)),
        migrations.AddField("evaluationrequest", "batch_id", models.BigIntegerField(help_text=BATCH, null=True)),
        migrations.AddField(
            "historyscore",
            "sample_hash",
            models.BigIntegerField(
                help_text="Of input, gold answer and contexts; null: unknown, counted as distinct.",
                null=True,
            ),
        ),
        migrations.AddField("historyscore", "batch_id", models.BigIntegerField(help_text=BATCH, null=True)),
    ]
