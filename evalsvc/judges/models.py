"""Table: Connection."""

from __future__ import annotations

import uuid

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import Account, TenantModel

valid_name = RegexValidator(
    r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}\Z", "1 to 100 letters, digits, spaces, dots, dashes or underscores."
)


class Connection(TenantModel):
    """An LLM endpoint: an OpenAI-compatible address, its key, its prices and its rate limits."""

    class Protocol(models.TextChoices):
        CHAT = "chat", "Chat Completions"
        RESPONSES = "responses", "Responses"
        TEI_PREDICT = "tei-predict", "Classifier: TEI /predict"
        TEI_RERANK = "tei-rerank", "Classifier: TEI /rerank"
        VLLM_CLASSIFY = "vllm-classify", "Classifier: vLLM /classify"
        VLLM_SCORE = "vllm-score", "Classifier: vLLM /score"
        INFINITY_CLASSIFY = "infinity-classify", "Classifier: Infinity /classify"
        INFINITY_RERANK = "infinity-rerank", "Classifier: Infinity /rerank"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, validators=[valid_name])
    base_url = models.CharField(max_length=2048, help_text="As https://llm.example.com/v1; /chat/completions is added.")
    model = models.CharField(max_length=200, help_text="Asked when nothing names another.")
    secret = models.BinaryField(null=True, editable=False)
    """The key, the extra headers and the query parameters, encrypted."""
    has_key = models.BooleanField(default=False, editable=False)
    key_last4 = models.CharField(max_length=4, blank=True, editable=False)
    header_names = models.JSONField(default=list, editable=False)
    query_names = models.JSONField(default=list, db_default=models.Value([], models.JSONField()), editable=False)
    protocol = models.CharField(
        max_length=20,
        choices=Protocol.choices,
        default=Protocol.CHAT,
        db_default=Protocol.CHAT.value,
        help_text="Chat Completions unless the model is served by the Responses API only, or is a classifier.",
    )
    extra_body = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        help_text='Further fields of each request as JSON, such as {"reasoning_effort": "low"}.',
    )
    max_output_tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="The longest answer, including hidden thinking. Empty: 16384 for judges."
    )
    currency = models.CharField(
        max_length=3,
        blank=True,
        default="",
        db_default="",
        help_text="Of the prices, such as EUR. Empty: the installation's.",
    )
    price_input_per_million = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text="Money for a million tokens sent."
    )
    price_output_per_million = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text="Money for a million tokens written."
    )
    timeout_seconds = models.FloatField(default=60.0, help_text="For one whole call.")
    rpm = models.PositiveIntegerField(null=True, blank=True, help_text="Calls a minute, for each model; empty: any.")
    tpm = models.PositiveIntegerField(null=True, blank=True, help_text="Tokens a minute, for each model; empty: any.")
    max_concurrency = models.PositiveIntegerField(null=True, blank=True, help_text="Calls at a time; empty: any.")
    daily_budget = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True, help_text="Money a day (UTC); needs both prices."
    )
    is_enabled = models.BooleanField(default=True)
    is_default = models.BooleanField(
        default=False, db_default=False, help_text="Asked by evaluators whose profile names no other."
    )
    sees_images = models.BooleanField(
        default=False, db_default=False, help_text="Its model reads attached images, as judge-image sends them."
    )
    hears_audio = models.BooleanField(
        default=False, db_default=False, help_text="Its model reads attached recordings, as judge-audio sends them."
    )
    epoch = models.PositiveIntegerField(default=1, editable=False)
    """Grows with each change, so that whoever holds an older state can tell."""
    dialects = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()), editable=False)
    """How each model is called, as it was learnt; see `RequestDialect`. A change of the connection empties it."""
    created_at = models.DateTimeField(db_default=Now())
    revised_at = models.DateTimeField(db_default=Now(), editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)
    """A tombstone: configs of experiments go on naming the id, and answer `not_configured`. It holds no secret."""

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["account", "name"], condition=Q(deleted_at=None), name="uq_connection_name"
            ),
            models.UniqueConstraint(fields=["account"], condition=Q(is_default=True), name="uq_connection_default"),
            models.CheckConstraint(
                condition=Q(timeout_seconds__gt=0) & Q(timeout_seconds__lte=600), name="ck_connection_timeout"
            ),
            models.CheckConstraint(
                condition=Q(deleted_at=None) | Q(secret=None), name="ck_deleted_connection_has_no_secret"
            ),
        )

    def __str__(self) -> str:
        return self.name


class WebhookSecret(models.Model):
    """What an account's webhook requests are signed with; at most one, and for a day the one before it as well."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.OneToOneField(Account, on_delete=models.CASCADE)
    secret = models.BinaryField(editable=False)
    """Encrypted, as is the previous one."""
    last4 = models.CharField(max_length=4)
    previous = models.BinaryField(null=True, editable=False)
    previous_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(previous=None, previous_until=None)
                | Q(previous__isnull=False, previous_until__isnull=False),
                name="ck_webhook_secret_previous_ends",
            ),
        )

    def __str__(self) -> str:
        return f"…{self.last4}"
