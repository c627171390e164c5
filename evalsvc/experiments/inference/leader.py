"""The leader of an experiment: the config in the race that loses no paired difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.estimates.figures import Tally
from evalsvc.experiments.inference.pairs.comparisons import is_pairable
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.stats.pairs.common import Common, between
from evalsvc.stats.pairs.leader import ROUNDING, select_leader
from evalsvc.stats.pairs.paired import Differences


@dataclass(frozen=True, slots=True)
class LeadingConfigs:
    """The configs that are best on the primary metric: one leads, several are tied, in the order of arrival."""

    best: Sequence[Config] = ()

    @property
    def leader(self) -> Config | None:
        """The config that leads; None while there is none, and for a tie."""
        return self.best[0] if len(self.best) == 1 else None

    @property
    def reference(self) -> Config | None:
        """The config that the others are compared with: the leader, or the first of those that are tied."""
        return self.best[0] if self.best else None

    @property
    def tied(self) -> Sequence[Config]:
        """The tied configs; empty without a tie."""
        return self.best if len(self.best) > 1 else ()


def find_leading_configs(
    plan: ExperimentPlan,
    configs: Sequence[Config],
    tallies: Mapping[int, Tally],
    commons: Mapping[tuple[int, int], Common],
) -> LeadingConfigs:
    """Return who leads on the primary metric, of those that run or are completed.

    Nobody while the answers of one of them wait for earlier ones: the best of the others might be worse than that
    config. Configs are tied that have the same value on as many examples.
    """
    metric = primary_metric(plan)
    racing = [config for config in configs if config.is_in_race]
    candidates = [config for config in racing if tallies[config.pk].sums.n]
    if any(config.n_ok and not config.watermark and not config.fresh_from for config in racing):
        return LeadingConfigs()
    if not candidates:
        return LeadingConfigs()
    candidates.sort(key=lambda config: config.arrival)
    best = _find_best(metric, candidates, tallies, commons)
    value, n = metric.kind.value(tallies[best.pk].sums), tallies[best.pk].sums.n
    tied = [
        config
        for config in candidates
        if tallies[config.pk].sums.n == n and _is_same(metric.kind.value(tallies[config.pk].sums), value)
    ]
    return LeadingConfigs(tied if best in tied else [best])


def _find_best(
    metric: Metric,
    candidates: Sequence[Config],
    tallies: Mapping[int, Tally],
    commons: Mapping[tuple[int, int], Common],
) -> Config:
    if not is_pairable(metric):
        return max(candidates, key=lambda config: (_signed(metric, tallies[config.pk]), -config.arrival))

    def differences(first: int, second: int) -> Differences | None:
        common = between(commons, first, second)
        return common.differences if common is not None and common.n else None

    by_id = {config.pk: config for config in candidates}
    return by_id[select_leader(list(by_id), differences)]


def _is_same(value: float | None, other: float | None) -> bool:
    return value == other or (value is not None and other is not None and math.isclose(value, other, rel_tol=ROUNDING))


def _signed(metric: Metric, tally: Tally) -> float:
    value = metric.kind.value(tally.sums)
    if value is None:
        return -math.inf
    return value if metric.higher_is_better else -value
