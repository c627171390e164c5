"""Weigh the evidence of one experiment and act on it: decisions, failures, budgets, and the end.

One planner at a time works on an experiment, and what it finds is committed with what it does about it. It may run as
often as anybody likes: a second run over the same rows decides nothing new.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connections

from evalsvc.experiments.decisions.completion import find_locked_plan, lock_planner, settle
from evalsvc.experiments.decisions.confirmation import confirm_leader
from evalsvc.experiments.decisions.policy import stop_decided, stop_losers
from evalsvc.experiments.decisions.stops import abort, stop_config
from evalsvc.experiments.definition.checks.unmapped import stop_unmapped
from evalsvc.experiments.inference.estimates.looks import write_looks
from evalsvc.experiments.inference.pairs.evidence import bring_up_to_date
from evalsvc.experiments.models import Abort, Config, ControlOp, ExperimentPlan, Output
from evalsvc.experiments.reporting.live.view import count_queries
from evalsvc.stats.race.elimination import Elimination
from evalsvc.tenancy.scope import account_scope, current_role

# A config that has answered nothing but errors this often is not going to recover by itself.
MANY_ERRORS = 20
# Units given to configs that have stopped since might never be answered, and no other config receives more.
ALL_GIVEN_OUT = """
SELECT NOT EXISTS (
  SELECT 1 FROM experiments_config c
  WHERE c.experiment_id = %(experiment)s AND c.state = 'running' AND within_budget(c, %(budget)s, 1) > 0)
AND NOT EXISTS (
  SELECT 1 FROM experiments_workunit u JOIN experiments_config r ON r.id = u.config_id
  WHERE r.experiment_id = %(experiment)s AND r.state = 'running' AND u.addition = 0 AND u.state <> 'done')
"""
SECONDS = "SELECT extract(epoch FROM clock_timestamp() - %s::timestamptz)"


def step(*, account_id: int, experiment_id: int, wait: bool = False, compares: bool = True) -> bool:
    """Update one experiment's evidence and take the decisions that it supports.

    An ended experiment is still counted while outstanding answers arrive. Returns False when another planner is working
    on it, unless `wait` is set: evidence that the other planner has not seen must still be weighed. Without `compares`,
    comparisons that are only displayed and decide nothing are left for a later step; they are always updated when the
    experiment ends.
    """
    with account_scope(account_id):
        if not lock_planner(experiment_id, wait=wait):
            return False
        plans = ExperimentPlan.objects.filter(account_id=account_id, experiment_id=experiment_id)
        plan = plans.exclude(state=ExperimentPlan.State.DRAFT).first()
        if plan is None:
            return True
        configs = list(Config.objects.filter(experiment_id=experiment_id).order_by("arrival"))
        stop_unmapped(plan, configs)
        write_looks(plan, configs)
        pairs = bring_up_to_date(plan, configs, compares=compares)
        # Stops and resumes by users are visible from here on, and later ones wait.
        plan = find_locked_plan(account_id, experiment_id)
        if plan is None:
            return True
        _see_states(configs)
        if plan.state == ExperimentPlan.State.RUNNING:
            _stop_failing(plan, configs)
            _abort(plan, configs)
            # Configs that have failed just now are out of the race already.
            stop_losers(plan, configs, pairs)
            stop_decided(plan, configs)
            _stop_spent(plan, configs)
            _pause(plan, configs)
            confirm_leader(plan, configs)
        if any(config.state != Config.State.RUNNING for config in configs):
            settle(plan)
        return True


def _see_states(configs: Sequence[Config]) -> None:
    """Reload the states under the plan's lock: a config stopped in the meantime neither wins nor prolongs the race."""
    current = Config.objects.in_bulk([config.pk for config in configs])
    for config in configs:
        for name in ("state", "stop_reason", "kept_by_user", "pause_at"):
            setattr(config, name, getattr(current[config.pk], name))


def _stop_failing(plan: ExperimentPlan, configs: Sequence[Config]) -> None:
    for config in configs:
        if config.state != Config.State.RUNNING or config.n_ok or config.n_error < MANY_ERRORS:
            continue
        if (n_error := _n_errors_since_resume(config)) >= MANY_ERRORS:
            evidence = {"n_error": float(n_error), "n_ok": 0.0}
            drop = Elimination(config.pk, None, "error", None, evidence)
            stop_config(plan, config, reason=Config.StopReason.ERROR, drop=drop, state=Config.State.FAILED)


def _n_errors_since_resume(config: Config) -> int:
    """Count the failures of a config since it was last resumed, as their cause might have been repaired then."""
    resumes = ControlOp.objects.filter(experiment_id=config.experiment_id, action="resume").order_by("-created_at")
    times = (time for time, changed in resumes.values_list("created_at", "changed_ids") if config.pk in changed)
    last = next(times, None)
    outputs = Output.objects.filter(config=config).exclude(status=Output.Status.OK)
    return (outputs if last is None else outputs.filter(created_at__gt=last)).count()


def _abort(plan: ExperimentPlan, configs: Sequence[Config]) -> None:
    """Let the first failed output end its config, or all of them, where the plan requires it."""
    if plan.abort_on_error is None:
        return
    # What failed among the last examples has ended its config already.
    suspects = [config for config in configs if config.is_in_race and config.n_error]
    failed = [config for config in suspects if _n_errors_since_resume(config)]
    for config in failed:
        evidence = {"n_error": float(config.n_error), "n_ok": float(config.n_ok)}
        drop = Elimination(config.pk, None, "abort", None, evidence)
        abort(plan, config, drop)
    if failed and plan.abort_on_error == Abort.RUN:
        for config in configs:
            drop = Elimination(config.pk, failed[0].pk, "abort", None, {})
            stop_config(plan, config, reason=Config.StopReason.ERROR, drop=drop)


def _pause(plan: ExperimentPlan, configs: Sequence[Config]) -> None:
    """Stop what has come to the end of a shard at which it waits; nothing beyond is given out until it is resumed."""
    for config in configs:
        if config.state != Config.State.RUNNING or config.pause_at is None or config.watermark < config.pause_at:
            continue
        if config.watermark < plan.run_length:
            drop = Elimination(config.pk, None, "pause", None, {"shard": plan.shard_ends.index(config.pause_at) + 1})
            stop_config(plan, config, reason=Config.StopReason.PAUSE, drop=drop)


def _stop_spent(plan: ExperimentPlan, configs: Sequence[Config]) -> None:
    """Stop everything when a budget is spent. Queries are not given out beyond it in the first place."""
    exceeded = _find_exceeded_budget(plan, configs)
    if not exceeded:
        return
    for config in configs:
        if config.state == Config.State.RUNNING:
            drop = Elimination(config.pk, None, "budget", None, exceeded)
            stop_config(plan, config, reason=Config.StopReason.BUDGET, drop=drop)


def _find_exceeded_budget(plan: ExperimentPlan, configs: Sequence[Config]) -> dict[str, float]:
    cost = sum(config.cost for config in configs)
    if plan.budget_cost is not None and cost >= plan.budget_cost:
        return {"cost": cost, "budget_cost": plan.budget_cost}
    n_queries = sum(count_queries(config) for config in configs)
    if plan.budget_queries is not None and (n_queries >= plan.budget_queries or _is_given_out(plan)):
        return {"queries": float(n_queries), "budget_queries": float(plan.budget_queries)}
    if plan.budget_seconds is not None and plan.started_at is not None:
        with connections[current_role()].cursor() as cursor:
            cursor.execute(SECONDS, [plan.started_at])
            seconds = float(cursor.fetchone()[0])
        if seconds >= plan.budget_seconds:
            return {"seconds": seconds, "budget_seconds": plan.budget_seconds}
    return {}


def _is_given_out(plan: ExperimentPlan) -> bool:
    """Return whether the whole budget of queries has been given out, and no config that runs has any of it left."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(ALL_GIVEN_OUT, {"budget": plan.budget_queries, "experiment": plan.experiment_id})
        return bool(cursor.fetchone()[0])
