"""The estimates of a planned experiment next to the history of the same evaluator, each under its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.evaluations.history import store
from evalsvc.evaluations.history.alongside import UnknownConfig
from evalsvc.evaluations.history.interval import answer_interval, compute_mean, interval_values
from evalsvc.evaluations.wire.interval_request import DEFAULT_STRATEGY, IntervalOptions, first_id
from evalsvc.experiments.definition.metrics import EVALUATOR_SOURCES, Metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.live.scene import Scene, load_scene
from evalsvc.experiments.reporting.live.view import metric_view_in
from evalsvc.rest.bodies.names import spell_name
from evalsvc.tenancy.scope import account_scope
from evaluators.registry import find_evaluator

LIVE = (Config.State.RUNNING, Config.State.COMPLETED)
REFERENCE = ("lower", "median", "upper", "alpha", "n", "of", "method", "warnings", "reason", "rows")


@dataclass(frozen=True, slots=True)
class RunningSide:
    """The experiment of a request: the config that it names, or all that are running or completed."""

    plan: ExperimentPlan
    configs: Sequence[Config]

    def interval_of(self, evaluator_id: str, profile_name: str) -> dict[str, object] | None:
        """Return the running estimates of each config by every metric that reads this evaluator under this profile."""
        metrics = [metric for metric in parse_metrics(self.plan) if uses_evaluator(metric, evaluator_id, profile_name)]
        if not metrics:
            return None
        with account_scope(self.plan.account_id):
            scene = load_scene(self.plan)
            return {
                "experiment_id": str(self.plan.pk),
                "experiment": self.plan.experiment.name,
                "state": self.plan.state,
                "configs": [_config_out(scene, config, metrics) for config in self.configs],
            }


def _config_out(scene: Scene, config: Config, metrics: Sequence[Metric]) -> dict[str, Any]:
    views = {metric.name: metric_view_in(scene, config, metric) for metric in metrics}
    return {"id": str(config.pk), "name": config.name, "state": config.state, "metrics": views}


def find_running_side(*, account_id: int, experiment_id: int, config: str | None) -> RunningSide | None:
    """Return the planned experiment that a request belongs to; None for a passive one."""
    with account_scope(account_id):
        plans = ExperimentPlan.objects.select_related("experiment")
        plan = plans.filter(account_id=account_id, experiment_id=experiment_id).first()
        if plan is None:
            return None
        rows = Config.objects.filter(account_id=account_id, experiment_id=experiment_id).order_by("arrival")
        configs = list(rows.exclude(state=Config.State.DELETED))
    if config is None:
        return RunningSide(plan, [row for row in configs if row.state in LIVE])
    names = {config, spell_name(config)}
    matches = [row for row in configs if names & {str(row.pk), row.name}]
    if not matches:
        config_names = ", ".join(row.name for row in configs[:20])
        raise UnknownConfig(f"Experiment {experiment_id} has no config {config!r}; it has: {config_names}.")
    return RunningSide(plan, matches[:1])


def parse_metrics(plan: ExperimentPlan) -> list[Metric]:
    """Return the plan's metrics."""
    return [Metric.from_json(row) for row in plan.metrics]


def uses_evaluator(metric: Metric, evaluator_id: str, profile_name: str) -> bool:
    """Return whether a metric uses the results of this evaluator under this profile."""
    is_match = (metric.evaluator_id, metric.profile_name) == (evaluator_id, profile_name)
    return metric.source in EVALUATOR_SOURCES and is_match


def history_before(plan: ExperimentPlan, metric: Metric) -> dict[str, Any] | None:
    """Return the interval of the metric's own history before the experiment: the reference line of its configs.

    It has the metric's estimand and the plan's level. None if no evaluator computes the metric, or the plan has not
    started.
    """
    evaluator = find_evaluator(metric.runs or "")
    if evaluator is None or metric.evaluator_id is None or plan.started_at is None:
        return None
    pair = (metric.evaluator_id, metric.profile_name or "")
    (history,) = store.read_histories(plan.account_id, [pair], before=first_id(plan.started_at))
    level = min(max(plan.level, 0.8), 0.999)
    of = "pass" if metric.source == "pass" else "score"
    ask = IntervalOptions(DEFAULT_STRATEGY, level, of)
    interval = answer_interval(ask, evaluator[0], history) or {}
    reference = {name: interval.get(name) for name in REFERENCE}
    return {**reference, "value": compute_mean(ask, interval_values(history, of, ask.most))}
