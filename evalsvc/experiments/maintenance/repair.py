"""Rewrite comparisons, evidence and interim analyses of experiments where they differ from the scores."""

from __future__ import annotations

from collections.abc import Iterator

from evalsvc.experiments.decisions.completion import count_all, find_locked_plan, lock_planner, settle
from evalsvc.experiments.inference.estimates import looks
from evalsvc.experiments.inference.pairs import comparisons, evidence
from evalsvc.experiments.inference.pairs.evidence import select_comparable_configs
from evalsvc.experiments.maintenance import recount_pairs
from evalsvc.experiments.models import Comparison, Config, Evidence, ExperimentPlan, Look
from evalsvc.tenancy.scope import SYSTEM, account_scope, role_scope


def repair_all(*, account_id: int | None = None, experiment_id: int | None = None) -> Iterator[tuple[int, int]]:
    """Mend every experiment that has started, of all accounts or of one, as the system role.

    Yields each with how many differences there were. One at a time, under the locks of its planner: it may run while
    the service does, and twice.
    """
    with role_scope(SYSTEM):
        plans = ExperimentPlan.objects.exclude(state=ExperimentPlan.State.DRAFT).order_by("pk")
        if account_id is not None:
            plans = plans.filter(account_id=account_id)
        if experiment_id is not None:
            plans = plans.filter(pk=experiment_id)
        for owner, id in list(plans.values_list("account_id", "pk")):
            yield id, repair_experiment(account_id=owner, experiment_id=id)


def repair_experiment(*, account_id: int, experiment_id: int) -> int:
    """Count one experiment to its last answer and rewrite what differs; return the number of differences."""
    with account_scope(account_id):
        lock_planner(experiment_id, wait=True)
        plan = find_locked_plan(account_id, experiment_id)
        if plan is None or plan.state == ExperimentPlan.State.DRAFT:
            return 0
        has_ended = plan.state != ExperimentPlan.State.RUNNING
        n = sum(1 for _ in recount_pairs.find_pair_differences(experiment_id, is_complete=has_ended))
        if n:
            _take_away(plan)
            count_all(plan)
        settle(plan)
        return n


def _take_away(plan: ExperimentPlan) -> None:
    # What is known of deleted configs is not counted any more, and stays as it was.
    ids = [config.pk for config in select_comparable_configs(Config.objects.filter(experiment_id=plan.pk))]
    Look.objects.filter(config__in=ids).delete()
    Comparison.objects.filter(experiment_id=plan.pk, first__in=ids, second__in=ids).delete()
    Evidence.objects.filter(experiment_id=plan.pk, winner__in=ids, loser__in=ids).delete()
    comparisons.forget_comparisons(plan.pk)
    evidence.forget_evidence(plan.pk)
    looks.forget_looks(ids)
