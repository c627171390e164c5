"""A version may be of the format of DROP; the database is not touched."""

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
    ("drop", "DROP"),
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
    """Name the format."""

    dependencies = [("datasets", "0006_n_distinct")]
    operations = [
        migrations.AlterField("datasetversion", "format", models.CharField(max_length=10, choices=FORMATS)),
    ]
