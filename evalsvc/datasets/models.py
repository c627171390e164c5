"""Tables: Dataset (a name), DatasetVersion (a frozen list), Example (a row of it)."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import TenantModel, TenantRow
from evalsvc.datasets.fields import JSONTextField
from evalsvc.datasets.importers.limits import MAX_KEY
from evalsvc.tenancy.scope import NextId

MAX_NAME = 200


class Dataset(TenantModel):
    """A name for a line of versions."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=MAX_NAME)
    description = models.TextField(blank=True)
    n_versions = models.PositiveIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "name"], name="uq_dataset_name"),)

    def __str__(self) -> str:
        return self.name


DISTINCT = "Examples that differ in input, expected answer, contexts or output; null: not counted."


class DatasetVersion(TenantModel):
    """A frozen list of examples. The application's database role may insert and delete versions, never change one."""

    class Format(models.TextChoices):
        JSONL = "jsonl", "JSONL"
        CSV = "csv", "CSV"
        PARQUET = "parquet", "Parquet"
        BEIR = "beir", "BEIR"
        SQUAD = "squad", "SQuAD"
        GSM8K = "gsm8k", "GSM8K"
        JSON = "json", "JSON"
        HOTPOTQA = "hotpotqa", "HotpotQA"
        TRIVIAQA = "triviaqa", "TriviaQA"
        NQ_OPEN = "nq_open", "Natural Questions (open)"
        MS_MARCO = "ms_marco", "MS MARCO"
        DROP = "drop", "DROP"
        BOOLQ = "boolq", "BoolQ"
        MMLU = "mmlu", "MMLU"
        ARC = "arc", "ARC"
        RAGAS = "ragas", "RAGAS"
        DEEPEVAL = "deepeval", "DeepEval"
        LM_EVAL = "lm_eval", "LM-Eval"
        PROMPTFOO = "promptfoo", "promptfoo"
        INSPECT = "inspect", "Inspect"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    n_examples = models.PositiveIntegerField()
    n_distinct = models.PositiveIntegerField(null=True, help_text=DISTINCT)
    content_hash = models.CharField(max_length=64, help_text="SHA-256 of the canonical rows, in order.")
    input_schema = JSONTextField(help_text="JSON Schema that every input satisfies.")
    expected_schema = JSONTextField(help_text="JSON Schema that every expected value satisfies.")
    format = models.CharField(max_length=10, choices=Format.choices)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["dataset", "number"], name="uq_dataset_version_number"),
            models.CheckConstraint(condition=Q(number__gte=1), name="ck_dataset_version_counts_from_one"),
            models.CheckConstraint(condition=Q(n_examples__gte=1), name="ck_dataset_version_not_empty"),
        )

    def __str__(self) -> str:
        return f"{self.dataset} v{self.number}"


class Example(TenantRow):
    """One row of a version, as frozen as the version is."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    version = models.ForeignKey(DatasetVersion, on_delete=models.CASCADE, related_name="examples", db_index=False)
    position = models.PositiveIntegerField(help_text="Place in the version, from 0.")
    key = models.CharField(max_length=MAX_KEY, help_text="The caller's own id; else the row's number, from 1.")
    input = JSONTextField()
    expected = JSONTextField(null=True)
    contexts = JSONTextField(null=True, help_text="List of texts or passages, or null.")
    metadata = JSONTextField(default=dict)
    digest = models.BinaryField(max_length=32, editable=False, help_text="SHA-256 of the canonical row.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["version", "position"], name="uq_example_position"),
            models.UniqueConstraint(fields=["version", "key"], name="uq_example_key"),
        )

    def __str__(self) -> str:
        return self.key
