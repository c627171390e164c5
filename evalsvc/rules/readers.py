"""The parts of a stored rule, as their structs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from evalsvc.rules.bodies import RuleFilter, Sampling, SpanMapping, Stratum
from evalsvc.rules.models import Rule
from evalsvc.rules.samples import RULE_TAG


@dataclass(frozen=True, slots=True)
class RuleParts:
    """What decides which spans or evaluations a rule scores, and how."""

    filter: RuleFilter
    mapping: SpanMapping
    evaluators: Sequence[Any]
    tags: Mapping[str, str]


def read_parts(rule: Rule) -> RuleParts:
    """Return the parts of a rule. Its scores have its name as a tag."""
    return RuleParts(
        msgspec.convert(rule.filter, RuleFilter),
        msgspec.convert(rule.mapping, SpanMapping),
        rule.evaluators,
        {**rule.tags, RULE_TAG: rule.name},
    )


def read_sampling(rule: Rule) -> Sampling:
    """Return which share of the traces or sessions a rule draws."""
    strata = msgspec.UNSET if rule.strata is None else msgspec.convert(rule.strata, list[Stratum])
    return Sampling(rule.rate, "session" if rule.sample_by == Rule.Unit.SESSION else "trace", strata)
