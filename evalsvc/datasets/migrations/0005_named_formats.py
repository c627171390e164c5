"""A version may be of one of the named formats of rows; the database is not touched."""

from django.db import migrations, models

FORMATS = [
    ("jsonl", "JSONL"),
    ("csv", "CSV"),
    ("parquet", "Parquet"),
    ("beir", "BEIR"),
    ("squad", "SQuAD"),
    ("gsm8k", "GSM8K"),
    ("json", "JSON"),
    ("hotpotqa", "HotpotQA"),
    ("triviaqa", "TriviaQA"),
    ("nq_open", "Natural Questions (open)"),
    ("ms_marco", "MS MARCO"),
    ("boolq", "BoolQ"),
    ("mmlu", "MMLU"),
    ("arc", "ARC"),
    ("ragas", "RAGAS"),
    ("deepeval", "DeepEval"),
    ("lm_eval", "LM-Eval"),
    ("promptfoo", "promptfoo"),
    ("inspect", "Inspect"),
]


class Migration(migrations.Migration):
    """Name the formats."""

    dependencies = [("datasets", "0004_content_again")]
    operations = [
        migrations.AlterField("datasetversion", "format", models.CharField(max_length=10, choices=FORMATS)),
    ]
