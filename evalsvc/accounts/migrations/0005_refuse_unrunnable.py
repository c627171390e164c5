"""Whether an account is answered 4xx where an evaluator cannot run."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column that is false, by the database's own default: earlier releases write rows without it."""

    dependencies = [("accounts", "0004_off_and_deleted")]
    operations = [
        migrations.AddField(
            "account",
            "refuse_unrunnable",
            models.BooleanField(
                default=False,
                db_default=False,
                help_text="Answer 422 where an evaluator cannot run, rather than a result that is null.",
            ),
        ),
    ]
