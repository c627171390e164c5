"""One post of outputs by the caller's own code: recorded and evaluated, with the status of its config afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.experiments.decisions.step import step
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.cluster_sums import count_clusters
from evalsvc.experiments.models import Aggregate, Config, ExperimentPlan, WorkUnit
from evalsvc.experiments.reporting.live.metric_view import metric_view
from evalsvc.experiments.reporting.live.scene import load_scene, watch_configs
from evalsvc.experiments.runner.push import units
from evalsvc.experiments.runner.push.units import ReceivedOutputs
from evalsvc.experiments.runner.score import needs_worker
from evalsvc.experiments.selectors import get_plan
from evalsvc.tenancy.scope import account_scope


@dataclass(frozen=True, slots=True)
class PushResult:
    """The result of a post, and the config after it: each metric as in the live view, by name."""

    posted: ReceivedOutputs
    config: Config
    live: Mapping[str, Mapping[str, Any]]
    leaves_work: bool
    """Whether some metrics are left to workers."""


def accept_outputs(
    *,
    account: Account,
    held: WorkUnit,
    token: uuid.UUID,
    outputs: Sequence[Mapping[str, object]],
    is_done: bool,
    lease_seconds: float,
) -> PushResult:
    """Record the outputs of a leased unit, and let the planner weigh them; raises Invalid."""
    experiment_id = held.experiment_id
    posted = units.post_outputs(held=held, token=token, outputs=outputs, is_done=is_done, lease_seconds=lease_seconds)
    _weigh(account, experiment_id, has_ended=posted.recorded.config_state != Config.State.RUNNING)
    with account_scope(account.pk):
        plan = get_plan(account=account, id=experiment_id)
        config = Config.objects.get(account=account, pk=held.config_id)
        metrics = [Metric.from_json(row) for row in plan.metrics]
        return PushResult(posted, config, _live(plan, config, metrics), needs_worker(metrics))


def _weigh(account: Account, experiment_id: int, *, has_ended: bool) -> None:
    has_run = step(account_id=account.pk, experiment_id=experiment_id)
    if has_ended and not has_run:
        # No post follows the last one, so no other request would notice that it was the last.
        step(account_id=account.pk, experiment_id=experiment_id, wait=True)


def _live(plan: ExperimentPlan, config: Config, metrics: Sequence[Metric]) -> dict[str, Mapping[str, Any]]:
    sums = {(row.config_id, row.metric, row.scope): row for row in Aggregate.objects.filter(config=config)}
    intervals = watch_configs(plan, [config], metrics)
    # Clusters are not counted at each post: while examples are to come, only the live view counts them.
    clusters = count_clusters(plan, [config], metrics, most=0)
    # The other configs are read at the ends of shards, where the live view looks for a pattern as well.
    is_nonrandom = config.watermark in plan.shard_ends and config.pk in load_scene(plan).nonrandom
    return {
        metric.name: metric_view(
            plan,
            config,
            metric,
            sums,
            intervals.get((config.pk, metric.name)),
            clusters=clusters,
            fails_nonrandomly=is_nonrandom and metric.name == plan.primary_metric,
        )
        for metric in metrics
    }
