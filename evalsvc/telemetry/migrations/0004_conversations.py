"""The conversation or session of a span, and an index of those that have one."""

from django.db import migrations, models

from evalsvc.infra.indexes import AddIndexBeside


class Migration(migrations.Migration):
    """Add the column and its index. Spans that are there have none."""

    atomic = False
    dependencies = [("telemetry", "0003_times")]
    operations = [
        # Outside of a transaction, so that an interrupted run can be repeated.
        migrations.RunSQL(
            "ALTER TABLE telemetry_span ADD COLUMN IF NOT EXISTS conversation_id varchar(255)",
            migrations.RunSQL.noop,
            state_operations=[
                migrations.AddField("span", "conversation_id", models.CharField(max_length=255, null=True))
            ],
        ),
        AddIndexBeside(
            "span",
            models.Index(
                fields=["account", "conversation_id"],
                name="ix_span_conversation",
                condition=models.Q(conversation_id__isnull=False),
            ),
        ),
    ]
