"""Remember the trace and the span in which the caller's code has made an output."""

from pathlib import Path

from django.db import migrations, models
from django.db.models import Q

FUNCTIONS = (Path(__file__).parent / "sql" / "functions.sql").read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Add two columns and an index of those that have them, and let outputs be recorded with both."""

    dependencies = [("experiments", "0009_promote")]
    operations = [
        migrations.AddField(
            model_name="output",
            name="trace_id",
            field=models.CharField(help_text="Of OpenTelemetry, as the caller has sent it.", max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="output",
            name="span_id",
            field=models.CharField(help_text="Of the span in which it was made.", max_length=16, null=True),
        ),
        migrations.AddIndex(
            model_name="output",
            index=models.Index(
                condition=Q(trace_id__isnull=False), fields=["experiment", "trace_id"], name="ix_output_trace"
            ),
        ),
        migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop),
    ]
