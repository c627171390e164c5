"""Whether an account asks its members for a second factor."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column that is false, by the database's own default: earlier releases write rows without it."""

    dependencies = [("accounts", "0008_invitations")]
    operations = [
        migrations.AddField(
            "account",
            "require_second_factor",
            models.BooleanField(
                default=False,
                db_default=False,
                help_text="Show the account's pages to members who have a second factor.",
            ),
        ),
    ]
