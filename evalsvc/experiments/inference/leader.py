"""The leader of an experiment: the config in the race that loses no paired difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.estimates.figures import Tally
from evalsvc.experiments.inference.pairs.comparisons import is_pairable
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.stats.pairs.common import Common, between
from evalsvc.stats.pairs.leader import ROUNDING, select_leader
from evalsvc.stats.pairs.paired import Differences

Id = TypeVar("Id")


def find_leader(
    plan: ExperimentPlan,
    configs: Sequence[Config],
    tallies: Mapping[int, Tally],
    commons: Mapping[tuple[int, int], Common],
) -> Config | None:
    """Return the config that leads on the primary metric, of those that run or are completed.

    None while the answers of one of them wait for earlier ones: the best of the others might be worse than that config.
    """
    metric = primary_metric(plan)
    racing = [config for config in configs if config.is_in_race]
    candidates = [config for config in racing if tallies[config.pk].sums.n]
    if any(config.n_ok and not config.watermark and not config.fresh_from for config in racing):
        return None
    if not candidates:
        return None
    if not is_pairable(metric):
        return max(candidates, key=lambda config: (_signed(metric, tallies[config.pk]), -config.arrival))

    def differences(first: int, second: int) -> Differences | None:
        common = between(commons, first, second)
        return common.differences if common is not None and common.n else None

    by_id = {config.pk: config for config in sorted(candidates, key=lambda config: config.arrival)}
    return by_id[select_leader(list(by_id), differences)]


def level_with(leader: Id, reached: Mapping[Id, tuple[float | None, int]]) -> list[Id]:
    """Return the leader and all that have its value on as many examples, of these values and numbers of scores."""
    value, n = reached[leader]
    return [id for id, (other_value, own_n) in reached.items() if own_n == n and _is_same(other_value, value)]


def _is_same(one: float | None, other: float | None) -> bool:
    return one == other or (one is not None and other is not None and math.isclose(one, other, rel_tol=ROUNDING))


def _signed(metric: Metric, tally: Tally) -> float:
    value = metric.kind.value(tally.sums)
    if value is None:
        return -math.inf
    return value if metric.higher_is_better else -value
