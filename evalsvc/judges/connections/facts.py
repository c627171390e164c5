"""A connection as callers use it: plain values, including the secret."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NoReturn, TypedDict
from urllib.parse import quote, quote_plus

LENGTH_OF_IDS = 36
CHAT, RESPONSES = "chat", "responses"
TEI_PREDICT, TEI_RERANK = "tei-predict", "tei-rerank"
VLLM_CLASSIFY, VLLM_SCORE = "vllm-classify", "vllm-score"
INFINITY_CLASSIFY, INFINITY_RERANK = "infinity-classify", "infinity-rerank"
ANSWERING = (CHAT, RESPONSES)
"""Protocols of models that answer in words. The others are those of classifiers, which give labels or a score."""
PUBLIC_QUERY = frozenset(("api-version",))
"""Query parameters that errors may repeat: hiding a version would hide what is wrong with it."""


class ConnectionFields(TypedDict, total=False):
    """Writable fields of a connection; an empty `key`, `headers` or `query` removes the stored value."""

    name: str
    base_url: str
    model: str
    key: str | None
    headers: Mapping[str, str] | None
    query: Mapping[str, str] | None
    protocol: str
    extra_body: Mapping[str, Any]
    max_output_tokens: int | None
    currency: str
    price_input_per_million: Decimal | None
    price_output_per_million: Decimal | None
    timeout_seconds: float
    rpm: int | None
    tpm: int | None
    max_concurrency: int | None
    daily_budget: Decimal | None
    is_enabled: bool
    is_default: bool
    sees_images: bool
    hears_audio: bool


@dataclass(frozen=True, slots=True)
class ConnectionFacts:
    """The settings that a call needs. They stay within one process: the repr hides the secret, and pickling raises.

    Prices are per million tokens; limits that are None do not apply.
    """

    account_id: int
    id: uuid.UUID
    name: str
    base_url: str
    model: str
    key: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    protocol: str = CHAT
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    max_output_tokens: int | None = None
    currency: str = ""
    price_input_per_million: float | None = None
    price_output_per_million: float | None = None
    timeout_seconds: float = 60.0
    rpm: int | None = None
    tpm: int | None = None
    max_concurrency: int | None = None
    daily_budget: float | None = None
    sees_images: bool = False
    hears_audio: bool = False
    epoch: int = 1
    dialects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False, hash=False, compare=False)
    """How each model is called, as it was learnt."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("a connection's facts hold its secret; send its id instead")

    @property
    def is_classifier(self) -> bool:
        """Return whether its model gives labels or a score, and no words."""
        return self.protocol not in ANSWERING

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return every text that nothing may repeat which is shown, stored or logged; the longest comes first."""
        hidden = [value for name, value in self.query.items() if name.lower() not in PUBLIC_QUERY]
        forms = {form for value in hidden for form in (value, quote(value, safe=""), quote_plus(value))}
        return tuple(sorted({self.key, *self.headers.values(), *forms} - {""}, key=len, reverse=True))

    def cost_of(self, *, input_tokens: int, output_tokens: int) -> float | None:
        """Return the money that so many tokens cost; None where a price is not known."""
        if self.price_input_per_million is None or self.price_output_per_million is None:
            return None
        return (input_tokens * self.price_input_per_million + output_tokens * self.price_output_per_million) / 1_000_000


def parse_connection_id(ref: str) -> uuid.UUID | None:
    """Read a reference as an id, in the form in which ids are shown; None for a name."""
    try:
        return uuid.UUID(ref) if len(ref) == LENGTH_OF_IDS else None
    except ValueError:
        return None
