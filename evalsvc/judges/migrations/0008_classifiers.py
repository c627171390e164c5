"""Protocols of classifiers."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Let a connection lead to a classifier. No column changes: the database does not know the choices."""

    dependencies = [("judges", "0007_dialects")]

    operations = [
        migrations.AlterField(
            model_name="connection",
            name="protocol",
            field=models.CharField(
                choices=[
                    ("chat", "Chat Completions"),
                    ("responses", "Responses"),
                    ("tei-predict", "Classifier: TEI /predict"),
                    ("tei-rerank", "Classifier: TEI /rerank"),
                    ("vllm-classify", "Classifier: vLLM /classify"),
                    ("vllm-score", "Classifier: vLLM /score"),
                    ("infinity-classify", "Classifier: Infinity /classify"),
                    ("infinity-rerank", "Classifier: Infinity /rerank"),
                ],
                db_default="chat",
                default="chat",
                help_text="Chat Completions unless the model is served by the Responses API only, or is a classifier.",
                max_length=20,
            ),
        ),
    ]
