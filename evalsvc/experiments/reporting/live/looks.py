"""What was to be seen at the end of each shard: the points of a chart."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.estimates.looks import compute_added_looks
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.stats.basics.words import NEW_DATA, ONE_LOOK, THIS_SET
from evalsvc.stats.estimates.bounds import is_notable, is_only_bounded, widen_for_missing
from evalsvc.stats.kinds import kind_named
from evalsvc.stats.pairs.verdict import POST_HOC
from evalsvc.tenancy.scope import current_role

LOOKS = """
SELECT config_id, metric, shard, n, n_error, n_failed, n_na, value, lower, upper, set_lower, set_upper
FROM experiments_look WHERE config_id = ANY (%s)
"""


class InterimResult(NamedTuple):
    """What was to be seen of one metric when a config had finished a shard."""

    config_id: int
    metric: str
    shard: int
    n: int
    n_error: int
    n_failed: int
    n_na: int
    value: float | None
    lower: float | None
    upper: float | None
    set_lower: float | None
    set_upper: float | None


FIELDS_OF_LOOK = attrgetter(*InterimResult._fields)


def looks_view(plan: ExperimentPlan, configs: Sequence[Config]) -> dict[str, list[dict[str, Any]]]:
    """Return, by config, the fixed-sample estimates at the end of each shard: the points of a chart.

    A metric that was added later has one point, at the last shard that it is scored up to.
    """
    totals = {row["name"] for row in plan.metrics if kind_named(row["kind"]).covers == THIS_SET}
    names = ("metric", "shard", "n", "n_error", "n_na", "value", "lower", "upper")
    views: dict[str, list[dict[str, Any]]] = {str(config.pk): [] for config in configs}
    added = {row["name"] for row in plan.metrics if row.get("addition")}
    for look in load_interim_results(plan, configs):
        this_set = {"lower": look.set_lower, "upper": look.set_upper}
        covers = THIS_SET if look.metric in totals else NEW_DATA
        point = {name: getattr(look, name) for name in names} | {"covers": covers, "this_set": this_set}
        point["label"] = POST_HOC if look.metric in added else ONE_LOOK
        views[str(look.config_id)].append(point)
    return views


def _mind_missing(plan: ExperimentPlan, metric: Metric, look: InterimResult) -> InterimResult:
    """Return a look with its estimate and its interval as the headline of a live view: widened for missing scores."""
    n = look.n + (look.n_failed if metric.get_failure_value(plan.failures) is not None else 0)
    n_missing, limits = look.n_error - look.n_failed, metric.value_range
    if look.lower is None or look.upper is None or limits is None or not is_notable(n, n_missing):
        return look
    lower, upper = widen_for_missing((look.lower, look.upper), n, n_missing, limits)
    value = None if is_only_bounded(n, n_missing) else look.value
    return look._replace(value=value, lower=lower, upper=upper)


def load_interim_results(plan: ExperimentPlan, configs: Sequence[Config]) -> list[InterimResult]:
    """Return the stored interim results that `looks_view` renders, by shard and metric."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(LOOKS, [[config.pk for config in configs]])
        results = [InterimResult(*row) for row in cursor.fetchall()]
    results += [InterimResult(*FIELDS_OF_LOOK(look)) for look in compute_added_looks(plan, configs)]
    metrics = {row["name"]: Metric.from_json(row) for row in plan.metrics}
    results = [_mind_missing(plan, metrics[look.metric], look) for look in results]
    return sorted(results, key=lambda look: (look.shard, look.metric))
