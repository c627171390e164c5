"""The types that every family of evaluators uses: a family takes a Sample and returns a Score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, TypeAlias

from evaluators.cascade import NAME as CASCADE_SETTING
from evaluators.gateway import JudgeGateway
from evaluators.messages import Conversation, Reference
from evaluators.score_map import score_map_problems

# Re-exported: families, also those written by others, import these names from here.
from evaluators.settings import LAST, TURN, get_unit, settings_problems
from evaluators.settings import SettingsProblem as SettingsProblem
from evaluators.values import NO_CALLS, Attachment, CardText, Facts
from evaluators.values import AnswerText as AnswerText
from evaluators.values import CannotScore as CannotScore
from evaluators.values import JSONValue as JSONValue
from evaluators.values import Passage as Passage
from evaluators.values import Settings as Settings
from evaluators.values import TransientError as TransientError

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
    GOLD_CONTEXT = "evaluated_model_gold_context"
    TOP_K_CONTEXT = "evaluated_model_top_k_context"
    BASELINE = "evaluated_model_baseline_output"
    CONVERSATION = "conversation"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class InvalidField:
    """A value that is invalid for its field, and a sentence with the reason.

    `pointer` leads to the invalid part of the value, and `is_too_large` is whether a limit is the reason.
    """

    value: JSONValue
    why: str
    pointer: str = ""
    is_too_large: bool = False


NOTHING_UNREAD: Mapping[Field, InvalidField] = MappingProxyType({})
NOTHING_ATTACHED: Mapping[Field, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Sample:
    """One item to judge: the input, the context and the output of an LLM application. Built by `samples.build_sample`.

    `contexts` are the retrieved passages in the order of their ranks, `gold_contexts` those that should have been
    retrieved, and `top_k_contexts` the longer list that the retrieved ones were chosen from. `golds` are the accepted
    answers; a match with any one counts as right. `answer` is the output with its place or value, if it was sent as
    more than text. `baseline_output` is the answer of another application or version, to compare the output with.
    `unread` contains the fields with invalid values, and `attached` the media type of a picture or a recording that
    belongs to a field; `attachments` are the pictures and recordings themselves, as sent. `strips_thinking` is whether
    closed blocks of thinking before the output are left out of what is judged. `item` has the columns of the row that
    the sample was made of, for templates that name them. `choices` are the answers of a model as Chat Completions have
    them, with the tools that it called; None where only the text is known. `conversation` has the messages and calls of
    tools that were sent, and `reference` the calls and the state that were expected.
    """

    input: str | None = None
    output: str | None = None
    contexts: tuple[Passage, ...] | None = None
    golds: tuple[AnswerText, ...] | None = None
    system_prompt: str | None = None
    gold_contexts: tuple[Passage, ...] | None = None
    top_k_contexts: tuple[Passage, ...] | None = None
    answer: AnswerText | None = None
    baseline_output: str | None = None
    unread: Mapping[Field, InvalidField] = field(default_factory=lambda: NOTHING_UNREAD)
    attached: Mapping[Field, str] = field(default_factory=lambda: NOTHING_ATTACHED)
    attachments: tuple[Attachment, ...] = ()
    strips_thinking: bool = True
    item: Mapping[str, JSONValue] | None = None
    choices: Sequence[JSONValue] | None = None
    conversation: Conversation | None = None
    reference: Reference | None = None

    @property
    def gold(self) -> str | None:
        """Return the first accepted answer."""
        return self.golds[0].text if self.golds else None

    @property
    def gold_texts(self) -> tuple[str, ...]:
        """Return the accepted answers; none when none was sent."""
        return tuple([gold.text for gold in self.golds or ()])

    @property
    def context_texts(self) -> tuple[str, ...]:
        """Return the retrieved texts; none when none were sent."""
        return get_texts(self.contexts)

    @property
    def top_k_texts(self) -> tuple[str, ...]:
        """Return the texts of the longer list; none when it was not sent."""
        return get_texts(self.top_k_contexts)

    def has(self, name: Field) -> bool:
        """Return whether the field was sent at all; an empty string counts as sent."""
        match name:
            case Field.CONVERSATION:
                return self.conversation is not None
            case Field.REFERENCE:
                return self.reference is not None
        return self.value_of(name) is not None

    def value_of(self, name: Field) -> str | tuple[str, ...] | None:
        """Return the field's text or texts (of several accepted answers the first), or None when it was not sent.

        A conversation and its reference are no texts: None.
        """
        match name:
            case Field.INPUT:
                return self.input
            case Field.OUTPUT:
                return self.output
            case Field.GOLD:
                return self.gold
            case Field.SYSTEM_PROMPT:
                return self.system_prompt
            case Field.BASELINE:
                return self.baseline_output
        passages = self.passages_of(name)
        return None if passages is None else get_texts(passages)

    def passages_of(self, name: Field) -> tuple[Passage, ...] | None:
        """Return the passages of a field that contains passages, or None if it was not sent."""
        match name:
            case Field.CONTEXT:
                return self.contexts
            case Field.GOLD_CONTEXT:
                return self.gold_contexts
            case Field.TOP_K_CONTEXT:
                return self.top_k_contexts
        return None

    @property
    def has_bare_ids(self) -> bool:
        """Return whether a list of passages has ids and no texts."""
        return is_ids_alone(self.contexts) or is_ids_alone(self.top_k_contexts) or is_ids_alone(self.gold_contexts)

    def why_unread(self, name: Field) -> str:
        """Return why a field that is one of a family's `find_unread_fields` cannot be read."""
        if name in self.unread:
            return self.unread[name].why
        return f"`{name}` has passages that are known by their ids alone, and texts were expected."

    @property
    def n_chars(self) -> int:
        """How many characters a family may have to read. It decides whether the work may stay inline."""
        n_chars = len(self.input or "") + len(self.output or "") + len(self.baseline_output or "")
        for gold in self.golds or ():
            n_chars += len(gold.text)
        for passages in (self.contexts, self.gold_contexts, self.top_k_contexts):
            for passage in passages or ():
                n_chars += len(passage.text)
        return n_chars


def is_ids_alone(passages: Sequence[Passage] | None) -> bool:
    """Return whether there are passages, and all of them have an id and no text."""
    # Quick in most cases: nearly every first passage has a text.
    if not passages or passages[0].text:
        return False
    return all(not passage.text and passage.id is not None for passage in passages)


def get_texts(passages: Iterable[Passage] | None) -> tuple[str, ...]:
    """Return the texts of passages, in their order."""
    return tuple([passage.text for passage in passages or ()])


UndecidedReason: TypeAlias = Literal[
    "language", "too_short", "low_support", "short_answer", "no_sentence_decided", "unstated"
]
"""Why there is no verdict: the text's language or length, weak support that nothing contradicts, a short answer that
could be any of the contexts', or no sentence that could be checked."""
NOTHING_CHECKED: UndecidedReason = "no_sentence_decided"


@dataclass(frozen=True, slots=True)
class Score:
    """A verdict: a finite value in the family's range, and why.

    `value` runs from worst to best (0 = fail, 1 = pass), toxicity included. `passed` follows the profile's threshold,
    and is None without one (`Family.has_verdict`).
    `spans` are half-open character offsets into the output. `undecided` is why the verdict would be a guess; `passed`
    is then what the threshold says all the same, and the profile's setting `undecided` decides what is reported.
    """

    value: float
    passed: bool | None
    explanation: str | None = None
    spans: tuple[Span, ...] | None = None
    text_output: str | None = None
    extra: Mapping[str, JSONValue] = field(default_factory=dict)
    undecided: UndecidedReason | None = None


@dataclass(frozen=True, slots=True)
class EvaluatorSpec:
    """A dated, runnable member of a family: `toxicity-2026-11-01`, alias `toxicity`.

    `settings` are fixed by the id (a mode, a model), and no profile may set them. See `effective_settings`.
    `components`, `formula`, `output_types` and `judge_calls` help users choose an evaluator; see `Facts`.
    """

    id: str
    name: str
    description: str
    aliases: tuple[str, ...] = ()
    default_profile: str | None = None
    settings: Settings = field(default_factory=dict)
    components: tuple[str, ...] = ()
    formula: str = ""
    output_types: tuple[str, ...] = ()
    judge_calls: str = NO_CALLS
    replaced_by: str | None = None
    """The id of the newer evaluator, of one that is deprecated; it can still be run."""

    def former(
        self, *, id: str, name: str, description: str, settings: Settings | None = None, formula: str = ""
    ) -> EvaluatorSpec:
        """Return an earlier evaluator of the same kind, with settings of its own; no alias answers to it any more."""
        return replace(
            self,
            id=id,
            name=name,
            description=description,
            aliases=(),
            settings=settings or {},
            formula=formula or self.formula,
            replaced_by=self.id,
        )


def effective_settings(spec: EvaluatorSpec, profile_settings: Settings) -> dict[str, JSONValue]:
    """Merge the settings that the evaluator's id fixes with the profile's. `Family.score` takes the result.

    Only the profile's own settings go to `Family.check_settings`.
    """
    return {**spec.settings, **profile_settings}


@dataclass(frozen=True, slots=True)
class ManagedProfile:
    """A profile that comes with the product, named `patronus:<name>` (alias `system:<name>`) in the API.

    `earlier` are the settings of its revisions before `settings`, the first one first: what results point to stays.
    """

    name: str
    description: str
    settings: Settings = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    earlier: tuple[Settings, ...] = ()


class Family(ABC):
    """Code that can score. One subclass, one file, one entry in the registry."""

    name: str
    description: str
    question: str = ""
    """What its verdict answers, as people ask it; evaluators are listed by question."""
    lane: Lane
    binary: bool
    """Declared, never inferred: True when every score is 0 or 1."""
    by_verdict: bool = False
    """True where pass or fail is the answer, and the score only ranks. The API then gives the score 1 or 0, and by
    default an interval is for the share that passes."""
    value_range: tuple[float, float] = (0.0, 1.0)
    required_fields: tuple[Field, ...]
    optional_fields: tuple[Field, ...] = ()
    can_explain: bool = True
    evaluators: tuple[EvaluatorSpec, ...]
    managed_profiles: tuple[ManagedProfile, ...]
    reads_texts: bool = True
    """False for a family that can score passages that have an id and no text."""
    judge_variants: tuple[str, ...] = ()
    """The values of the setting `variant` with which an evaluator asks a judge; with others it computes by itself."""
    accepts_own_profiles: bool = False
    """True where accounts may make profiles of their own."""
    metrics: Mapping[str, Facts] = MappingProxyType({})
    """The metrics that a profile's setting `metric` may name, in a family of several metrics."""
    profiles_decide: bool = False
    """True where the profile decides what is judged, so that the inputs depend on it more than on the evaluator."""
    url_settings: tuple[str, ...] = ()
    """Settings that hold a URL which the service will call: the service checks the address when they are saved."""
    cards: Mapping[str, CardText] = MappingProxyType({})
    """What cards say in words, by id or by id without its date; that of the others under the family's own name."""
    settings_schema: Mapping[str, JSONValue]
    """JSON Schema of a profile's `config`, as GET /v1/evaluator-families shows it."""

    def check_settings(self, settings: Settings) -> list[SettingsProblem]:
        """Return all problems of a profile's settings. With an empty list they can be run."""
        problems = settings_problems(settings, self.settings_schema)
        return problems or [*score_map_problems(settings), *self.problems_beyond_schema(settings)]

    def problems_beyond_schema(self, settings: Settings) -> list[SettingsProblem]:
        """Return the problems of settings that fit the schema, for rules that JSON Schema cannot express."""
        return []

    @abstractmethod
    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score a sample that has every field that the settings need.

        `settings` are `effective_settings(spec, profile_settings)`, the profile's having passed `check_settings`.
        Raises CannotScore for what no retry can mend. Any other exception is a bug and becomes `status: error`.
        """

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Score a sample with the help of other servers. Called where `lane_of` returns Lane.JUDGE.

        Like `score`, but it also raises FailedForNow, for failures that a retry may mend.
        """
        raise NotImplementedError(f"family {self.name} asks nobody")

    def lane_of(self, settings: Settings) -> Lane:
        """Return the lane for these effective settings: a family may have quick and slow ways to score."""
        asks = CASCADE_SETTING in settings or settings.get("variant") in self.judge_variants
        return Lane.JUDGE if asks else self.lane

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Name the inputs that the effective settings need."""
        return self.required_fields

    def is_binary(self, settings: Settings) -> bool:
        """Return whether every score with these effective settings is 0 or 1: the mean of several turns is neither."""
        return self.binary and get_unit(settings) != TURN

    def threshold_for(self, sample: Sample, settings: Settings) -> float | None:
        """Return the lowest score that passes; None if the family does not have a threshold."""
        declared = self.settings_schema.get("properties")
        schema = declared.get("pass_threshold") if isinstance(declared, dict) else None
        value = settings.get("pass_threshold", schema.get("default") if isinstance(schema, dict) else None)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def has_verdict(self, settings: Settings) -> bool:
        """Return whether scores with these settings pass or fail; without a threshold they do neither."""
        return True

    @property
    def can_be_undecided(self) -> bool:
        """Return whether its profiles have the setting `undecided`, so that a score may come without a verdict."""
        properties = self.settings_schema.get("properties")
        return isinstance(properties, dict) and "undecided" in properties

    def warm_up(self) -> None:
        """Load what the first score would load, so that a worker pays before it takes work."""
        return

    def reads(self, settings: Settings) -> tuple[Field, ...]:
        """Name the inputs that the effective settings read: the required ones, and the optional ones."""
        return (*self.fields_for(settings), *self.optional_fields)

    def missing_fields(self, sample: Sample, settings: Settings) -> list[Field]:
        """List the fields that the effective settings need and the sample lacks."""
        return [name for name in _read_of_unit(self.fields_for(settings), settings) if not sample.has(name)]

    def unsupported_fields(self, sample: Sample, settings: Settings) -> list[Field]:
        """List the fields that the effective settings read, and that have an attachment which the family cannot read.

        A family reads texts alone, unless it overrides this.
        """
        return [name for name in dict.fromkeys(self.reads(settings)) if name in sample.attached]

    def find_unread_fields(self, sample: Sample, settings: Settings) -> list[Field]:
        """List the fields with invalid values that the effective settings read."""
        if not sample.unread and not sample.has_bare_ids:
            return []
        return [
            name
            for name in dict.fromkeys(_read_of_unit(self.reads(settings), settings))
            if name in sample.unread or (self.reads_texts and is_ids_alone(sample.passages_of(name)))
        ]


def _read_of_unit(fields: Sequence[Field], settings: Settings) -> Sequence[Field]:
    """Return the fields with the conversation in place of the input and the output, where these are read of it."""
    if get_unit(settings) == LAST:
        return fields
    return [Field.CONVERSATION, *(name for name in fields if name not in (Field.INPUT, Field.OUTPUT))]
