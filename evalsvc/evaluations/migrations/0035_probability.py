"""Scores know the probability with which a rule drew them."""

from django.db import migrations, models

PROBABILITY = "With which a rule drew it; null for others."


class Migration(migrations.Migration):
    """Add two columns that are null for the rows that are there."""

    dependencies = [("evaluations", "0034_sample_hash")]
    operations = [
        migrations.AddField("evaluationrequest", "probability", models.FloatField(help_text=PROBABILITY, null=True)),
        migrations.AddField("historyscore", "probability", models.FloatField(help_text=PROBABILITY, null=True)),
    ]
