"""What an account has the means to run: judges need a connection to an LLM, webhooks a secret to sign with."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from evalsvc.accounts.models import Account
from evalsvc.catalog.managed import managed_profiles
from evalsvc.catalog.models import Evaluator
from evalsvc.judges.selectors import whom_to_ask
from evaluators.base import EvaluatorSpec, Family, Lane, Settings, effective_settings
from evaluators.registry import find_evaluator

WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True)
class Means:
    """Whom an account can ask."""

    llm: bool
    webhook: bool

    def of(self, family: Family) -> bool:
        """Return whether what a family asks elsewhere can be asked."""
        return self.webhook if family.name == WEBHOOK else self.llm


def means_of(account: Account) -> Means:
    """Return whom the account can ask. Within the account's scope."""
    return Means(*whom_to_ask(account=account))


def is_runnable(row: Evaluator, means: Means) -> bool:
    """Return whether anything can run an evaluator: it is switched on and installed, and whom it asks can be asked."""
    found = find_evaluator(row.base)
    if found is None or not row.is_enabled:
        return False
    family, spec = found
    return means.of(family) or not asks_always(family, spec)


def unrunnable_profiles(means: Means) -> list[uuid.UUID]:
    """Return the managed profiles with which no evaluator of their family can run."""
    return [row.id for row in managed_profiles().values() if not means.of(row.family) and _is_asked(row.id)]


def asks_always(family: Family, spec: EvaluatorSpec) -> bool:
    """Return whether an evaluator asks somebody else with every managed profile, and with none."""
    return all(_asks(family, spec, settings) for settings in _settings_of(family))


@cache
def _is_asked(id: uuid.UUID) -> bool:
    (row,) = (row for row in managed_profiles().values() if row.id == id)
    return all(_asks(row.family, spec, row.settings) for spec in row.family.evaluators)


def _settings_of(family: Family) -> Iterator[Settings]:
    yield {}
    for profile in family.managed_profiles:
        yield profile.settings


def _asks(family: Family, spec: EvaluatorSpec, settings: Settings) -> bool:
    return family.lane_of(effective_settings(spec, settings)) is Lane.JUDGE
