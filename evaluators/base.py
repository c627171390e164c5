"""The words every family speaks: Sample in, Score out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

JSONValue: TypeAlias = "str | int | float | bool | list[JSONValue] | dict[str, JSONValue] | None"
Settings: TypeAlias = Mapping[str, JSONValue]
Span: TypeAlias = tuple[int, int]


class Lane(StrEnum):
    """Where a family's work is done: in the web process, or on a queue of workers."""

    INLINE = "inline"
    CPU = "cpu"
    JUDGE = "judge"


class Field(StrEnum):
    """An input that a family may read, by the name the API answers with."""

    INPUT = "evaluated_model_input"
    OUTPUT = "evaluated_model_output"
    CONTEXT = "evaluated_model_retrieved_context"
    GOLD = "evaluated_model_gold_answer"
    SYSTEM_PROMPT = "evaluated_model_system_prompt"


@dataclass(frozen=True, slots=True)
class Sample:
    """One thing to judge: what an LLM application was asked, was given and said."""

    input: str | None = None
    output: str | None = None
    contexts: tuple[str, ...] | None = None
    gold: str | None = None
    system_prompt: str | None = None

    def has(self, name: Field) -> bool:
        """Say whether the field was sent at all; an empty string counts as sent."""
        return self.value_of(name) is not None

    def value_of(self, name: Field) -> str | tuple[str, ...] | None:
        """Return the field's value, or None when it was not sent."""
        return {
            Field.INPUT: self.input,
            Field.OUTPUT: self.output,
            Field.CONTEXT: self.contexts,
            Field.GOLD: self.gold,
            Field.SYSTEM_PROMPT: self.system_prompt,
        }[name]

    @property
    def n_chars(self) -> int:
        """Characters that a family may have to read; decides whether inline work is small enough to stay inline."""
        texts = (self.input, self.output, self.gold, *(self.contexts or ()))
        return sum(len(text) for text in texts if text)


@dataclass(frozen=True, slots=True)
class Score:
    """A verdict: a finite value in the family's range, and why.

    `value` runs from worst to best (0 = fail, 1 = pass), toxicity included. `passed` follows the profile's threshold.
    `spans` are half-open character offsets into the output.
    """

    value: float
    passed: bool
    explanation: str | None = None
    spans: tuple[Span, ...] | None = None
    text_output: str | None = None
    extra: Mapping[str, JSONValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvaluatorSpec:
    """A dated, runnable member of a family: `toxicity-2026-11-01`, alias `toxicity`.

    `settings` are what the id itself promises (a mode, a model); no profile may name them. See `effective_settings`.
    """

    id: str
    name: str
    description: str
    aliases: tuple[str, ...] = ()
    default_profile: str | None = None
    settings: Settings = field(default_factory=dict)


def effective_settings(spec: EvaluatorSpec, profile_settings: Settings) -> dict[str, JSONValue]:
    """Merge what the evaluator's id promises with the profile's settings: what `Family.score` takes.

    Only the profile's own settings go to `Family.check_settings`.
    """
    return {**spec.settings, **profile_settings}


@dataclass(frozen=True, slots=True)
class ManagedProfile:
    """A profile that comes with the product, named `patronus:<name>` (alias `system:<name>`) on the wire."""

    name: str
    description: str
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """What is wrong with a profile's settings: a JSON pointer into them and a sentence."""

    pointer: str
    detail: str


class CannotScore(Exception):
    """The sample cannot be scored, and trying again would not help.

    `code` is one of the stable error codes of docs/errors.md, for example `unsupported_language`.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Family(ABC):
    """Code that can score. One subclass, one file, one entry in the registry."""

    name: str
    description: str
    lane: Lane
    binary: bool
    """Declared, never inferred: True when every score is 0 or 1."""
    value_range: tuple[float, float] = (0.0, 1.0)
    required_fields: tuple[Field, ...]
    optional_fields: tuple[Field, ...] = ()
    can_explain: bool = True
    evaluators: tuple[EvaluatorSpec, ...]
    managed_profiles: tuple[ManagedProfile, ...]
    accepts_own_profiles: bool = False
    settings_schema: Mapping[str, JSONValue]
    """JSON Schema of a profile's `config`, as GET /v1/evaluator-families shows it."""

    @abstractmethod
    def check_settings(self, settings: Settings) -> list[SettingsProblem]:
        """Say everything that is wrong with a profile's settings; an empty list means they can be run."""

    @abstractmethod
    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score a sample that has every required field.

        `settings` are `effective_settings(spec, profile_settings)`, the profile's having passed `check_settings`.
        Raises CannotScore for what a retry cannot mend. Any other exception is a bug and becomes `status: error`.
        """

    def warm_up(self) -> None:
        """Load what the first score would load, so that a worker pays before it takes work."""
        return

    def missing_fields(self, sample: Sample) -> list[Field]:
        """List required fields that the sample lacks."""
        return [name for name in self.required_fields if not sample.has(name)]
