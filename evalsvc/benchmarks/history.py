"""Executions over time: what each has reached, and how it compares with the last one before it and with the best."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from evalsvc.accounts.models import Account
from evalsvc.benchmarks.models import Benchmark, Execution
from evalsvc.benchmarks.selectors import list_executions
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.cluster_sums import MOST_WATCHED, count_clusters
from evalsvc.experiments.inference.estimates.figures import estimate_value
from evalsvc.experiments.inference.failure_patterns import find_nonrandom_failures_of_runs
from evalsvc.experiments.inference.pairs.compare import MEASURED_ALIKE, ComparisonSide, difference_between
from evalsvc.experiments.inference.pairs.comparisons import why_not_pairable
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import Aggregate, Config, ExperimentPlan
from evalsvc.experiments.reporting.live.metric_view import metric_view
from evalsvc.experiments.reporting.live.scene import tally_in

MAX_EARLIER = 200
"""Among so many executions before one the best is sought."""
MAX_OTHERS = 5
"""With so many executions before one its failures are compared."""
NOT_ALIKE = "other_measure"
SURROUNDINGS = ("task_version", "model", "environment")


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """An execution with its config, and what it has reached by the primary metric."""

    execution: Execution
    plan: ExperimentPlan
    config: Config | None
    metric: Metric
    value: float | None

    @property
    def is_over(self) -> bool:
        """Return whether the execution has ended."""
        return self.plan.state not in (ExperimentPlan.State.DRAFT, ExperimentPlan.State.RUNNING)

    @property
    def side(self) -> ComparisonSide:
        """Return it as one side of a comparison."""
        assert self.config is not None  # noqa: S101  only what has a value is compared
        return ComparisonSide(self.config, self.plan, self.metric)

    @property
    def rank(self) -> float:
        """Return its value so that more is better."""
        value = float("-inf") if self.value is None else self.value
        return value if self.metric.higher_is_better or self.value is None else -value


def build_history(
    account: Account, benchmark: Benchmark, wanted: Sequence[Execution], *, compared: Collection[int] | None = None
) -> dict[str, Any]:
    """Return executions, in the order given, each compared with the previous and with the best one before it.

    `compared`: the ids of those that are compared, by default all. Each comparison reads its pairs.
    The best one is chosen by the same results that it is then compared on, so the differences are simultaneous over all
    pairs of a listed execution with any earlier one, whichever of them is the best.
    """
    newest = max((execution.number for execution in wanted), default=0)
    oldest = min((execution.number for execution in wanted), default=1)
    rows = list_executions(account=account, benchmark=benchmark).filter(
        number__lte=newest, number__gt=max(0, oldest - 1 - MAX_EARLIER)
    )
    played = _played(list(rows.select_related("experiment__plan__dataset_version__dataset").order_by("number")))
    before = {execution.number: _earlier(played, execution) for execution in wanted}
    is_compared = {row.number: compared is None or row.pk in compared for row in wanted}
    together = max(1, sum(len(earlier) for number, earlier in before.items() if is_compared[number]))
    by_id = {result.execution.pk: result for result in played}
    sums = _sums([result for result in played if result.execution.pk in {row.pk for row in wanted}])
    return {
        "executions": [
            _execution_out(by_id[row.pk], before[row.number], together if is_compared[row.number] else None, sums)
            for row in wanted
        ],
        "n_comparisons": together,
        "level": benchmark.logic["rules"].get("level"),
        "primary_metric": benchmark.logic["primary_metric"],
    }


def _played(executions: Sequence[Execution]) -> list[ExecutionResult]:
    configs: dict[int, Config] = {}
    ids = [execution.experiment_id for execution in executions]
    for row in Config.objects.filter(experiment_id__in=ids).exclude(state=Config.State.DELETED).order_by("-arrival"):
        configs[row.experiment_id] = row
    names = {primary_metric(execution.experiment.plan).name for execution in executions}
    rows = Aggregate.objects.filter(
        config__in=[active_config.pk for active_config in configs.values()], metric__in=names
    )
    sums = {(aggregate.config_id, aggregate.metric, aggregate.scope): aggregate for aggregate in rows}
    results = []
    for execution in executions:
        plan: ExperimentPlan = execution.experiment.plan
        metric = primary_metric(plan)
        config: Config | None = configs.get(execution.experiment_id)
        value = None if config is None else estimate_value(metric, tally_in(plan, config, metric, sums))
        results.append(ExecutionResult(execution, plan, config, metric, value))
    return results


def _sums(played: Sequence[ExecutionResult]) -> Mapping[tuple[int, str, str], Aggregate]:
    rows = Aggregate.objects.filter(config__in=[result.config.pk for result in played if result.config is not None])
    return {(row.config_id, row.metric, row.scope): row for row in rows}


def _earlier(played: Sequence[ExecutionResult], of: Execution) -> list[ExecutionResult]:
    return [
        result
        for result in played
        if result.execution.number < of.number and result.is_over and result.value is not None
    ]


def build_newest_results(account: Account, benchmarks: Sequence[Benchmark]) -> dict[int, dict[str, Any]]:
    """Return the newest execution of each benchmark with its estimates, by the benchmark's id; without comparisons."""
    rows = Execution.objects.filter(
        account=account, benchmark__in=[row.pk for row in benchmarks], number=F("benchmark__n_executions")
    )
    played = _played(list(rows.select_related("experiment__plan__dataset_version__dataset")))
    sums = _sums(played)
    return {result.execution.benchmark_id: _execution_out(result, [], None, sums) for result in played}


def _execution_out(
    one: ExecutionResult, before: Sequence[ExecutionResult], together: int | None, sums: Any
) -> dict[str, Any]:
    execution, config = one.execution, one.config
    last = before[-1] if before else None
    best = max(before, key=lambda other: (other.rank, other.execution.number), default=None)
    metrics = [Metric.from_json(row) for row in one.plan.metrics] if config else []
    clusters = count_clusters(one.plan, [config], metrics, most=MOST_WATCHED) if config else {}
    is_nonrandom = _has_nonrandom_failures(one, before, sums)
    return {
        "id": str(execution.pk),
        "number": execution.number,
        "experiment_id": str(execution.experiment_id),
        "config_id": str(config.pk) if config else None,
        "config": config.name if config else None,
        "state": one.plan.state,
        **{name: getattr(execution, name) for name in SURROUNDINGS},
        "drift": execution.drift,
        "digest": execution.digest,
        "metrics": {
            metric.name: metric_view(
                one.plan,
                config,
                metric,
                sums,
                clusters=clusters,
                fails_nonrandomly=is_nonrandom and metric.name == one.metric.name,
            )
            for metric in metrics
        }
        if config
        else {},
        "changed": _changed(execution, last.execution) if last else [],
        "against_last": _compare(one, last, together),
        "against_best": _compare(one, best, together),
        "created_at": execution.created_at,
    }


def _has_nonrandom_failures(one: ExecutionResult, before: Sequence[ExecutionResult], sums: Any) -> bool:
    """Return whether an execution fails on the examples on which those before it score low."""
    if one.config is None or not tally_in(one.plan, one.config, one.metric, sums).n_failed:
        return False
    alike = [earlier.config for earlier in before[-MAX_OTHERS:] if _why_not(one, earlier) is None]
    others = [config for config in alike if config is not None]
    return one.config.pk in find_nonrandom_failures_of_runs(one.plan, one.metric, [one.config, *others])


def _changed(execution: Execution, last: Execution) -> list[str]:
    """Return the names of what differs from the previous execution in reported context and logic."""
    names = [name for name in ("task_version", "model") if getattr(execution, name) != getattr(last, name)]
    current, other = execution.environment, last.environment
    names += [f"environment.{name}" for name in {**other, **current} if current.get(name) != other.get(name)]
    return names + (["logic"] if execution.digest != last.digest else [])


def _compare(one: ExecutionResult, other: ExecutionResult | None, together: int | None) -> dict[str, Any] | None:
    if other is None or together is None:
        return None
    facts = {
        "execution_id": str(other.execution.pk),
        "number": other.execution.number,
        "value": other.value,
        "comparison": None,
        "reason": _why_not(one, other),
    }
    if facts["reason"] is None:
        facts["comparison"] = difference_between(one.side, other.side, together=together)
    return facts


def _why_not(one: ExecutionResult, other: ExecutionResult) -> str | None:
    if one.value is None:
        return "no_scores"
    if (why := why_not_pairable(one.metric)) is not None:
        return why
    alike = all(getattr(one.metric, name) == getattr(other.metric, name) for name in MEASURED_ALIKE)
    return None if alike and one.metric.name == other.metric.name else NOT_ALIKE
