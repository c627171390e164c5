"""How an endpoint is called: protocol, query, further fields of a request, longest answer, currency of prices."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Let a connection state what its provider needs."""

    dependencies = [("judges", "0005_senses")]

    operations = [
        migrations.AddField(
            model_name="connection",
            name="query_names",
            field=models.JSONField(
                db_default=models.Value([], models.JSONField()),
                default=list,
                editable=False,
            ),
        ),
        migrations.AddField(
            model_name="connection",
            name="protocol",
            field=models.CharField(
                choices=[("chat", "Chat Completions"), ("responses", "Responses")],
                db_default="chat",
                default="chat",
                help_text="Chat Completions unless the model is served by the Responses API only.",
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="connection",
            name="extra_body",
            field=models.JSONField(
                blank=True,
                db_default=models.Value({}, models.JSONField()),
                default=dict,
                help_text='Further fields of each request as JSON, such as {"reasoning_effort": "low"}.',
            ),
        ),
        migrations.AddField(
            model_name="connection",
            name="max_output_tokens",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="The longest answer, including hidden thinking. Empty: 16384 for judges.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="connection",
            name="currency",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of the prices, such as EUR. Empty: the installation's.",
                max_length=3,
            ),
        ),
    ]
