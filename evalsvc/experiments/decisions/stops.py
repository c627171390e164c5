"""Stop a config, or take a stop back, and store what that rested on."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connections
from django.db.models import F, Q

from evalsvc.accounts.services import record_audit
from evalsvc.events.models import EventType
from evalsvc.events.outbox import record_event
from evalsvc.experiments.models import Config, Decision, ExperimentPlan
from evalsvc.experiments.notices import EPOCHS, publish_on_commit
from evalsvc.stats.race.elimination import Elimination
from evalsvc.tenancy.scope import current_role
from evaluators.base import JSONValue

RESUMED = "resumed"
IN_FLIGHT = """
SELECT config_id, count(*) FROM experiments_workunit
WHERE config_id = ANY (%s) AND state = 'leased' AND lease_expires_at > clock_timestamp() GROUP BY 1
"""
# What waits at the end of a shard runs on when it is resumed, so it can be stopped meanwhile.
STOPPABLE = Q(state=Config.State.RUNNING) | Q(state=Config.State.STOPPED, stop_reason=Config.StopReason.PAUSE)


def stop_config(
    plan: ExperimentPlan,
    config: Config,
    *,
    reason: str,
    drop: Elimination,
    state: str = Config.State.STOPPED,
) -> bool:
    """Stop a config that runs or waits, and store the decision with its evidence; False when it had stopped already."""
    return _end(plan, config, STOPPABLE, reason=reason, drop=drop, state=state)


def abort(plan: ExperimentPlan, config: Config, drop: Elimination) -> bool:
    """Fail a config for an output that failed, also one that this output has completed; False when it had stopped."""
    abortable = STOPPABLE | Q(state=Config.State.COMPLETED)
    return _end(plan, config, abortable, reason=Config.StopReason.ERROR, drop=drop, state=Config.State.FAILED)


def _end(plan: ExperimentPlan, config: Config, which: Q, *, reason: str, drop: Elimination, state: str) -> bool:
    rows = Config.objects.filter(which, pk=config.pk)
    if not rows.update(state=state, stop_reason=reason, epoch=F("epoch") + 1):
        return False
    publish_on_commit(EPOCHS)
    config.state, config.stop_reason = state, reason
    record_decision(plan, config, drop)
    return True


def reinstate(plan: ExperimentPlan, config: Config, *, reason: str, because_of: int | None) -> bool:
    """Let a config continue that the planner had stopped for this reason; False when it has been changed since."""
    # With a confirmation the planner completes it, or lets it go on to be confirmed.
    is_over = config.watermark >= plan.run_length and plan.confirm is None
    state = Config.State.COMPLETED if is_over else Config.State.RUNNING
    rows = Config.objects.filter(pk=config.pk, state=Config.State.STOPPED, stop_reason=reason)
    if not rows.update(state=state, stop_reason=None, epoch=F("epoch") + 1):
        return False
    publish_on_commit(EPOCHS)
    config.state, config.stop_reason = state, None
    record_decision(plan, config, Elimination(config.pk, because_of, RESUMED, None, {}))
    # It incurs cost again without a user's request, so the audit trail records it too.
    facts = {"experiment": str(plan.pk), "by": "policy"}
    record_audit(account=plan.account, actor="planner", action="config.resume", target=config.name, **facts)
    return True


def store_decision(plan: ExperimentPlan, config: Config, drop: Elimination) -> None:
    """Store a decision without an event: nothing was stopped or brought back by it."""
    evidence = dict(drop.evidence)
    if drop.threshold is not None:
        evidence["threshold"] = drop.threshold
    Decision.objects.create(
        account_id=plan.account_id,
        experiment_id=plan.experiment_id,
        config=config,
        against_id=drop.winner,
        policy=plan.policy,
        reason=drop.reason,
        watermark=config.watermark,
        n_in_flight=count_in_flight([config.pk]),
        evidence=evidence,
    )


def record_decision(plan: ExperimentPlan, config: Config, drop: Elimination) -> None:
    """Store a decision and report it as an event."""
    store_decision(plan, config, drop)
    data: dict[str, JSONValue] = {
        "experiment_id": str(plan.experiment_id),
        "config_id": str(config.pk),
        "against_id": None if drop.winner is None else str(drop.winner),
        "policy": plan.policy,
        "reason": drop.reason,
        "state": config.state,
        "n": config.watermark,
    }
    record_event(account_id=plan.account_id, type=EventType.DECISION_MADE, data=data)


def count_in_flight(config_ids: Sequence[int]) -> int:
    """Count the queries that are on their way: one for each leased unit."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(IN_FLIGHT, [list(config_ids)])
        return sum(n for _, n in cursor.fetchall())
