"""What an account has the means to run: judges need a connection to an LLM, webhooks a secret to sign with."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from evalsvc.accounts.models import Account
from evalsvc.catalog.managed import managed_profiles
from evalsvc.catalog.models import Evaluator
from evalsvc.judges.selectors import get_judge_availability
from evaluators.base import EvaluatorSpec, Family, Lane, Settings, effective_settings
from evaluators.registry import find_evaluator

WEBHOOK, CLASSIFIER = "webhook", "classifier"


@dataclass(frozen=True, slots=True)
class AvailableJudges:
    """The external services that an account can call: LLM judges, webhooks, and connections of any kind."""

    llm: bool
    webhook: bool
    connection: bool

    def has_judge_for(self, family: Family) -> bool:
        """Return whether the account can call the external service that a family uses."""
        if family.name == CLASSIFIER:
            return self.connection
        return self.webhook if family.name == WEBHOOK else self.llm


def get_available_judges(account: Account) -> AvailableJudges:
    """Return the external services that the account can call. Call it within the account's scope."""
    return AvailableJudges(*get_judge_availability(account=account))


def is_runnable(row: Evaluator, means: AvailableJudges) -> bool:
    """Return whether an evaluator can run: enabled, installed, and any external service it needs is available."""
    match = find_evaluator(row.base)
    if match is None or not row.is_enabled:
        return False
    family, spec = match
    return means.has_judge_for(family) or not needs_judge(family, spec)


def unrunnable_profiles(means: AvailableJudges) -> list[uuid.UUID]:
    """Return the managed profiles with which no evaluator of their family can run."""
    return [row.id for row in managed_profiles().values() if not means.has_judge_for(row.family) and _is_asked(row.id)]


def needs_judge(family: Family, spec: EvaluatorSpec) -> bool:
    """Return whether an evaluator calls an external service with every managed profile, and with none."""
    return all(_asks(family, spec, settings) for settings in _iter_settings(family))


@cache
def _is_asked(id: uuid.UUID) -> bool:
    (row,) = (row for row in managed_profiles().values() if row.id == id)
    return all(_asks(row.family, spec, row.settings) for spec in row.family.evaluators)


def _iter_settings(family: Family) -> Iterator[Settings]:
    yield {}
    for profile in family.managed_profiles:
        yield profile.settings


def _asks(family: Family, spec: EvaluatorSpec, settings: Settings) -> bool:
    return family.lane_of(effective_settings(spec, settings)) is Lane.JUDGE
