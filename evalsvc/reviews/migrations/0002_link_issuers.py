"""Who has made a link: it opens nothing once they could make none."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column; links of before have no issuer, and live until they end."""

    dependencies = [("reviews", "0001_initial")]
    operations = [
        migrations.AddField("reviewlink", "issued_by", models.CharField(max_length=120, null=True, editable=False)),
    ]
