"""Types shared by families and the services they call: JSON, settings, texts, metric descriptions, scoring errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard

import msgspec

JSONValue: TypeAlias = "str | int | float | bool | list[JSONValue] | dict[str, JSONValue] | None"
Settings: TypeAlias = Mapping[str, JSONValue]
DOCUMENTS, EXTRACTIVE, GENERATED = "documents", "extractive_answer", "generated_answer"
OUTPUT_TYPES = (DOCUMENTS, EXTRACTIVE, GENERATED)
ANSWERS = (EXTRACTIVE, GENERATED)
ALL_PARTS, RETRIEVER, GENERATOR = ("retriever", "augmentation", "generator"), ("retriever",), ("generator",)
# Calls of a judge: n retrieved contexts, k in the longer list, m statements or main points of the answer.
NO_CALLS, ONE_CALL, SAMPLED = "0", "1", "n_samples"


class Passage(msgspec.Struct, frozen=True):
    """A text that was retrieved, or should have been.

    `id` is the document's, by which ranking metrics match where both sides have one; a passage known by its id alone
    has an empty text. `relevance` is the grade of a wanted passage (higher is more; None: relevant, like the others),
    or the score that a retriever gave.
    """

    text: str
    id: str | None = None
    relevance: float | None = None
    metadata: Mapping[str, JSONValue] | None = None


class AnswerText(msgspec.Struct, frozen=True):
    """An output or gold answer: its text and its other properties.

    `value` is the original number or boolean. `document_id`, `start` and `end` locate an extractive answer, as
    half-open character offsets into that document.
    """

    text: str
    value: float | bool | None = None
    document_id: str | None = None
    start: int | None = None
    end: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """One thing that can be measured.

    `output_types` are the kinds of output that it evaluates; `components` the parts of an application. `judge_calls` is
    a number, or a sum of n (retrieved contexts), k (texts of the longer list), m (statements of the answer) and
    n_samples (a setting, 1 by default).
    """

    formula: str
    output_types: tuple[str, ...]
    components: tuple[str, ...]
    judge_calls: str = NO_CALLS


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or audio attachment: its location, its declared media type, and the field that it belongs to."""

    url: str
    media_type: str
    usage: str


@dataclass(frozen=True, slots=True)
class KnownMiss:
    """What an evaluator gets wrong, in a sentence; `probe` names the measured share of such texts that passes."""

    text: str
    probe: str | None = None


@dataclass(frozen=True, slots=True)
class CardText:
    """The part of an evaluator's card that cannot be derived from code or measurements. It does not include figures.

    `threshold` explains the origin of the default threshold; `changes` how a dated id differs from the previous one.
    """

    misses: tuple[KnownMiss, ...] = ()
    languages: str = ""
    threshold: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)


def is_plain(value: object) -> TypeGuard[float | bool]:
    """Return whether a value is a boolean or a finite number."""
    return isinstance(value, bool) or is_number(value)


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a finite number; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (isinstance(value, int) and abs(value) < 10**300) or math.isfinite(value)


class CannotScore(Exception):
    """The sample cannot be scored, and trying again would not help.

    `code` is one of the stable error codes of docs/errors.md, for example `unsupported_language`. `extra` is what is
    known all the same and goes into the answer, for example what a judge's calls have cost.
    """

    def __init__(self, code: str, detail: str, *, extra: Mapping[str, JSONValue] | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.extra = extra


class TransientError(CannotScore):
    """The sample could not be scored this time, but a retry might succeed: `timeout`, `rate_limited`, ..."""
