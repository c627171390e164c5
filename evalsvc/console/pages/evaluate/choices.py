"""The evaluators that a file can be scored with, and the metrics of those that were chosen."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.catalog.models import Evaluator, ProfileRevision
from evalsvc.catalog.runnable import AvailableJudges, get_available_judges
from evalsvc.catalog.selectors import list_evaluators, list_revisions
from evaluators.base import EvaluatorSpec, Family, Field, Lane, Settings, effective_settings
from evaluators.facts import build_facts
from evaluators.registry import find_evaluator

COLUMN_OF = {Field.INPUT: "input", Field.OUTPUT: "output", Field.CONTEXT: "contexts", Field.GOLD: "expected"}
SUGGESTED = {
    "expected": ("exact-match", "metrics/patronus:compute-squad-f1"),
    "contexts": ("hallucination",),
    "input": ("answer-relevance",),
    "output": ("pii",),
}
"""Evaluators without a judge that are selected at first, by the field that they are about."""
MOST_PROFILES = 300
ANY_EVALUATOR = "judge"
"""The evaluator of its family that is offered with each profile; the others read attachments."""


@dataclass(frozen=True, slots=True)
class EvaluatorChoice:
    """An evaluator of the form: the name that the API takes, and why it cannot run on this file."""

    value: str
    title: str
    description: str
    asks_llm: bool
    calls: str
    missing: str
    """Which columns it lacks."""
    needs_connection: bool
    is_suggested: bool
    is_checked: bool

    @property
    def is_possible(self) -> bool:
        """Whether it can be selected."""
        return not self.missing and not self.needs_connection


def list_choices(account: Account, mapped: Collection[str], checked: Collection[str] | None) -> list[EvaluatorChoice]:
    """Return what can score a file with these fields: suggestions first, then what can run, then what cannot.

    `checked` are the selected ones; None before anything was selected.
    """
    suggested = _suggest(mapped)
    selected = suggested if checked is None else checked
    means = get_available_judges(account)
    profiles = list(list_revisions(account=account, filters={"get_last_revision": True})[:MOST_PROFILES])
    defaults = {(row.profile.family, row.profile.name): row.settings for row in profiles if row.account_id is None}
    choices = [
        _build_choice(row, family, spec, revision, defaults, means, mapped, suggested, selected)
        for row, family, spec in _list_offered(account)
        for revision in _list_profiles(row, profiles)
    ]
    order = {value: i for i, value in enumerate(suggested)}
    return sorted(choices, key=lambda choice: (not choice.is_possible, order.get(choice.value, len(order))))


def build_metrics(evaluators: Sequence[str]) -> list[dict[str, Any]]:
    """Return the metrics of a file: one for each evaluator."""
    return [{"name": format_metric_name(evaluator), "evaluator": evaluator} for evaluator in evaluators]


def format_metric_name(evaluator: str) -> str:
    """Return the short name of an evaluator with a profile."""
    return evaluator.replace("/patronus:", "/")[:90]


def _suggest(mapped: Collection[str]) -> list[str]:
    names = [name for field in ("expected", "contexts") if field in mapped for name in SUGGESTED[field]]
    return names or [name for field in ("input", "output") if field in mapped for name in SUGGESTED[field]][:1]


def _list_offered(account: Account) -> Iterator[tuple[Evaluator, Family, EvaluatorSpec]]:
    """Yield the evaluators that are not deprecated."""
    for row in list_evaluators(account=account, include_deprecated=False):
        match = find_evaluator(row.base)
        if match is None or not row.is_enabled:
            continue
        if row.account_id is None and match[0].name == ANY_EVALUATOR and ANY_EVALUATOR not in row.aliases:
            continue
        yield row, *match


def _list_profiles(row: Evaluator, profiles: Sequence[ProfileRevision]) -> list[ProfileRevision | None]:
    """Return the profiles with which an evaluator is offered; None is its default."""
    family_profiles = [revision for revision in profiles if revision.profile.family == row.family]
    if row.default_profile is None:
        return [*family_profiles]
    return [None, *(revision for revision in family_profiles if revision.account_id is not None)]


def _build_choice(
    row: Evaluator,
    family: Family,
    spec: EvaluatorSpec,
    revision: ProfileRevision | None,
    defaults: Mapping[tuple[str, str], Settings],
    means: AvailableJudges,
    mapped: Collection[str],
    suggested: Collection[str],
    selected: Collection[str],
) -> EvaluatorChoice:
    alias = row.evaluator_id if row.account_id is not None or not row.aliases else _choose_alias(row)
    value = f"{alias}/{revision.profile.name}" if revision else alias
    default = defaults.get((row.family, row.default_profile or ""), {})
    settings = effective_settings(spec, revision.settings if revision else default)
    asks_llm = family.lane_of(settings) is Lane.JUDGE
    fields = family.fields_for(settings)
    lacking = [COLUMN_OF.get(field, str(field)) for field in fields if COLUMN_OF.get(field) not in mapped]
    return EvaluatorChoice(
        value=value,
        title=f"{row.name}: {revision.profile.name.removeprefix('patronus:')}" if revision else row.name,
        description=(revision.description if revision else "") or row.description,
        asks_llm=asks_llm,
        calls=build_facts(family, spec, settings).judge_calls if asks_llm else "",
        missing=", ".join(name.removeprefix("evaluated_model_").replace("_", " ") for name in lacking),
        needs_connection=asks_llm and not means.has_judge_for(family),
        is_suggested=value in suggested,
        is_checked=value in selected,
    )


def _choose_alias(row: Evaluator) -> str:
    short = [name for names in SUGGESTED.values() for name in names if name in row.aliases]
    return short[0] if short else row.aliases[0]
