"""The card of an evaluator: its declarations, its description, and its measured figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated

from msgspec import Meta, Struct

from evaluators.base import EvaluatorSpec, Family, ManagedProfile, Sample, Settings, effective_settings
from evaluators.cards.figures import Ends, MeasuredFigures, VerdictMetrics, load_measured_figures
from evaluators.facts import build_facts
from evaluators.gateway import Question
from evaluators.judging.shown import collect_prompts
from evaluators.values import CardText, KnownMiss

_DATE = re.compile(r"-20\d\d-[01]\d-[0-3]\d\Z")


class Interval(Struct, frozen=True):
    """A figure and the ends of its 95 % interval."""

    value: float
    lower: float
    upper: float


class VerdictFigures(Struct, frozen=True, kw_only=True):
    """How right verdicts are; null where it cannot be said, or there are fewer than 30 samples.

    `fpr` is the share of good samples that fail, `fnr` of bad ones that pass, `ece` how far scores are from the share
    that is good. `majority` is the accuracy that the more frequent verdict has where it is given to each sample.
    Accuracies, `fpr` and `fnr` are of the samples that are decided; `undecided` is the share that is not.
    """

    accuracy: Interval | None
    majority: Interval | None
    undecided: Interval | None
    balanced_accuracy: Interval | None
    fpr: Interval | None
    fnr: Interval | None
    auc: Interval | None
    ece: Interval | None


class ReadField(Struct, frozen=True):
    """An input that is read, with the default profile."""

    field: str
    required: bool


class PassingShare(Struct, frozen=True):
    """The shares of texts of one kind that pass and that are undecided."""

    probe: str
    about: str
    should_pass: bool
    n: int
    passed: Interval
    undecided: Annotated[float, Meta(description="The share that neither passes nor fails.")]


class Miss(Struct, frozen=True):
    """What the evaluator gets wrong, and how often where that was measured."""

    text: str
    measured: PassingShare | None


class SetAccuracy(Struct, frozen=True):
    """How right it was on a named set.

    `seen` says how far its models and rules knew the set; `rows_sha256` tells the rows that were drawn, `files` what
    they were drawn from.
    """

    set: str
    about: str
    seen: str
    n: int
    n_good: int
    n_sources: int
    n_scored: int
    figures: VerdictFigures
    rows_sha256: str
    files: dict[str, str]


class SetDifference(Struct, frozen=True):
    """What a later id has more on a set, of the same rows."""

    set: str
    figures: VerdictFigures


class DatedChange(Struct, frozen=True):
    """What a dated id does otherwise than the one before it, and what that did to its figures."""

    id: str
    before: str
    text: str
    differences: list[SetDifference]


class CostOfProfile(Struct, frozen=True):
    """CPU milliseconds of one thread by characters of the output; in the place of a number, why there is none."""

    profile: str | None
    cpu_ms: dict[str, float | str]


class PromptReference(Struct, frozen=True):
    """A prompt that it asks with its default profile, or else with a managed one.

    Its words are at `GET /v1/evaluators/{id}/prompt?criteria=<profile>`.
    """

    profile: str
    prompt_id: str
    digest: str


class MeasuredWith(Struct, frozen=True):
    """When the figures were measured, and with what."""

    date: str
    code_sha256: str
    python: str
    machine: str


class EvaluatorCard(Struct, frozen=True, kw_only=True):
    """What an evaluator reads, measures and misses, how right it was, and what it costs."""

    reads: list[ReadField]
    measures: str
    formula: str
    misses: list[Miss]
    languages: str
    lane: str
    judge_calls: Annotated[str, Meta(description="How often a model is asked for a score.")]
    default_threshold: float | None
    threshold_source: str
    accuracy: list[SetAccuracy]
    probes: list[PassingShare]
    cost: list[CostOfProfile]
    prompts: list[PromptReference]
    changes: list[DatedChange]
    measured: MeasuredWith | None


def get_stem(id: str) -> str:
    """Return an evaluator's id without its date."""
    return _DATE.sub("", id)


def card_text(family: Family, spec: EvaluatorSpec) -> CardText:
    """Return the description of an evaluator: the one for this id, for its stem, or for its family."""
    names = (spec.id, get_stem(spec.id), family.name)
    return next((family.cards[name] for name in names if name in family.cards), CardText())


def build_card(family: Family, spec: EvaluatorSpec, prompts: list[PromptReference]) -> EvaluatorCard:
    """Put the card of an evaluator together, with its default profile where it has one."""
    figures, text = load_measured_figures(), card_text(family, spec)
    settings = default_settings(family, spec)
    facts, accuracy = build_facts(family, spec), list(_accuracy(spec.id, figures))
    cost = list(_cost(spec, figures))
    return EvaluatorCard(
        reads=_reads(family, settings),
        measures=spec.description,
        formula=facts.formula,
        misses=[_miss(miss, spec.id, figures) for miss in text.misses],
        languages=text.languages,
        lane=str(family.lane_of(settings)),
        judge_calls=facts.judge_calls,
        default_threshold=None if family.binary else family.threshold_for(Sample(), settings),
        threshold_source=text.threshold,
        accuracy=accuracy,
        probes=[_share(name, spec.id, figures) for name in figures.shares.get(spec.id, {})],
        cost=cost,
        prompts=prompts,
        changes=list(_changes(family, spec, figures)),
        measured=_build_environment(figures) if accuracy or cost else None,
    )


def default_settings(family: Family, spec: EvaluatorSpec) -> Settings:
    """Return what the evaluator runs with where nothing is named; without a default profile, what its id fixes."""
    profiles: Mapping[str | None, ManagedProfile] = {profile.name: profile for profile in family.managed_profiles}
    profile = profiles.get(spec.default_profile)
    return effective_settings(spec, profile.settings if profile else {})


async def collect_questions(family: Family, spec: EvaluatorSpec) -> list[tuple[str, Question]]:
    """Return the evaluator's questions with the name of their profile: the default, or else each managed one."""
    profiles = [profile for profile in family.managed_profiles if spec.default_profile in (None, profile.name)]
    return [
        (profile.name, question)
        for profile in profiles
        for question in await collect_prompts(family, effective_settings(spec, profile.settings))
    ]


def _reads(family: Family, settings: Settings) -> list[ReadField]:
    required = family.fields_for(settings)
    return [ReadField(str(name), name in required) for name in dict.fromkeys(family.reads(settings))]


def _accuracy(id: str, figures: MeasuredFigures) -> Iterator[SetAccuracy]:
    for name, counts in figures.verdicts.get(id, {}).items():
        of = figures.sets[name]
        figures_shown = verdict_figures(counts)
        yield SetAccuracy(
            name, of.about, of.seen, of.n, of.n_good, of.n_sources, counts.n_scored, figures_shown, of.sha256, of.files
        )


def verdict_figures(found: VerdictMetrics) -> VerdictFigures:
    """Name the ends of each figure."""
    return VerdictFigures(
        accuracy=_interval(found.accuracy),
        majority=_interval(found.majority),
        undecided=_interval(found.undecided),
        balanced_accuracy=_interval(found.balanced_accuracy),
        fpr=_interval(found.fpr),
        fnr=_interval(found.fnr),
        auc=_interval(found.auc),
        ece=_interval(found.ece),
    )


def _interval(ends: Ends | None) -> Interval | None:
    return None if ends is None else Interval(*ends)


def _miss(miss: KnownMiss, id: str, figures: MeasuredFigures) -> Miss:
    is_measured = miss.probe is not None and miss.probe in figures.shares.get(id, {})
    return Miss(miss.text, _share(miss.probe or "", id, figures) if is_measured else None)


def _share(name: str, id: str, figures: MeasuredFigures) -> PassingShare:
    n, *ends, undecided = figures.shares[id][name]
    probe = figures.probes[name]
    return PassingShare(name, probe.about, probe.should_pass, n, Interval(*ends), undecided)


def _cost(spec: EvaluatorSpec, figures: MeasuredFigures) -> Iterator[CostOfProfile]:
    for name, sizes in figures.cost.items():
        id, _, profile = name.partition(" ")
        if id == spec.id:
            yield CostOfProfile(profile or None, sizes)


def _changes(family: Family, spec: EvaluatorSpec, figures: MeasuredFigures) -> Iterator[DatedChange]:
    of_stem = sorted(
        (other for other in family.evaluators if get_stem(other.id) == get_stem(spec.id)), key=lambda one: one.id
    )
    changed = {id: text for other in of_stem for id, text in card_text(family, other).changes.items()}
    for before, id in pairwise([other.id for other in of_stem]):
        differences_found = figures.differences.get(id)
        sets = differences_found.sets if differences_found is not None and differences_found.before == before else {}
        differences = [SetDifference(name, verdict_figures(difference)) for name, difference in sets.items()]
        yield DatedChange(id, before, changed.get(id, ""), differences)


def _build_environment(figures: MeasuredFigures) -> MeasuredWith:
    about = figures.about
    return MeasuredWith(about.date, about.code_sha256, about.python, about.machine)
