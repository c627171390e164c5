"""A column says what it holds: when the caller was answered `pending`."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Rename the column; the functions that name it are installed after the last migration."""

    dependencies = [("evaluations", "0028_names_of_indexes")]
    operations = [
        migrations.RenameField("evaluationrequest", "told_pending_at", "pending_answered_at"),
        migrations.AlterField(
            "evaluationrequest",
            "pending_answered_at",
            models.DateTimeField(help_text="When the caller was answered `pending`.", null=True),
        ),
    ]
