"""What state an experiment is in after its configs', and the counting that ends one.

Nothing is done before all of it is counted: looks and pairs are brought up to the last answer under the lock that
changes the state.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import connections
from django.db.models.functions import Now

from evalsvc.events.models import EventType
from evalsvc.events.outbox import record_event
from evalsvc.experiments.decisions.policy import has_unsupported_stop
from evalsvc.experiments.decisions.promotion import promote_leader
from evalsvc.experiments.inference.confirmation import find_confirmed
from evalsvc.experiments.inference.estimates.looks import write_looks
from evalsvc.experiments.inference.pairs.evidence import bring_up_to_date
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.notices import ended
from evalsvc.infra.locks import PLANNER
from evalsvc.tenancy.scope import current_role
from evaluators.base import JSONValue

State = ExperimentPlan.State
# A leased unit can still bring answers, of a stopped config too; so can one that waits for its scores. Metrics added to
# an ended experiment do not delay its closing; a retry does, because it changes the counts.
ON_ITS_WAY = """
SELECT EXISTS (
  SELECT 1 FROM experiments_workunit u JOIN experiments_config c ON c.id = u.config_id
  WHERE c.experiment_id = %s AND u.state <> 'done' AND c.state <> 'deleted' AND (u.addition >= 1000 OR (
    u.addition = 0 AND (u.state = 'scoring' OR (u.state = 'leased' AND u.lease_expires_at > clock_timestamp())))))
"""


def lock_planner(experiment_id: int, *, wait: bool) -> bool:
    """Take the planner's lock of an experiment until the transaction ends; False when another has it."""
    with connections[current_role()].cursor() as cursor:
        if wait:
            PLANNER.take(cursor, experiment_id)
            return True
        return PLANNER.try_take(cursor, experiment_id)


def find_locked_plan(account_id: int, experiment_id: int) -> ExperimentPlan | None:
    """Lock a plan until the transaction ends, so that one transaction at a time changes its state, and return it.

    Returns None when the experiment has been deleted in the meantime.
    """
    plans = ExperimentPlan.objects.select_for_update(no_key=True)
    return plans.filter(account_id=account_id, experiment_id=experiment_id).first()


def settle(plan: ExperimentPlan) -> None:
    """Set the experiment's state from its configs' states:

    running, done, failed, or idle when all of them are stopped.

    The caller must have locked the plan's row; otherwise a concurrent resume would go unseen and the experiment become
    idle. A transaction that updates its pairs waits for that row, and then settles it with everything counted.
    """
    configs = Config.objects.filter(experiment_id=plan.experiment_id).values_list("state", "stop_reason")
    states = list(configs)
    state = state_after(states)
    # A config can continue once the reason for its stop no longer applies: the planner tests it again.
    if state == State.DONE and has_unsupported_stop(plan):
        state = State.RUNNING
    if state == State.DONE and (confirmed := find_confirmed(plan)) and confirmed.state == Config.State.STOPPED:
        # What it was run for is missing, and comes when the config is resumed.
        state = State.IDLE
    if state == State.RUNNING:
        _write(plan, state, has_ended=False, is_closed=False)
        return
    # Only tried: a planner that has the lock waits for the plan's row.
    is_counted = lock_planner(plan.experiment_id, wait=False)
    if is_counted:
        count_all(plan)
    if is_counted or state != State.DONE:
        has_ended = not has_paused(states)
        _write(plan, state, has_ended=has_ended, is_closed=is_counted and not _is_on_its_way(plan))


def state_after(configs: Collection[tuple[str, str | None]]) -> str:
    """Return the state of an experiment from the states and stop reasons of its configs."""
    states = {state for state, _ in configs}
    if Config.State.RUNNING in states:
        return State.RUNNING
    if has_paused(configs):
        return State.IDLE
    if Config.State.COMPLETED in states or (Config.State.STOPPED, Config.StopReason.DECIDED) in configs:
        return State.DONE
    if Config.State.FAILED in states and Config.State.STOPPED not in states:
        return State.FAILED
    return State.IDLE


def has_paused(configs: Collection[tuple[str, str | None]]) -> bool:
    """Return whether a config waits at the end of a shard: an experiment with one has not ended."""
    return (Config.State.STOPPED, Config.StopReason.PAUSE) in configs


def count_all(plan: ExperimentPlan) -> None:
    """Update looks and pairs up to the last answer; the caller has locked the plan's row and the planner."""
    rows = Config.objects.filter(experiment_id=plan.experiment_id).order_by("id")
    # Locked, so that no answer that comes in now is left out: it waits, and is counted after the end.
    configs = sorted(rows.select_for_update(no_key=True), key=lambda config: config.arrival)
    write_looks(plan, configs)
    bring_up_to_date(plan, configs)


def _is_on_its_way(plan: ExperimentPlan) -> bool:
    with connections[current_role()].cursor() as cursor:
        cursor.execute(ON_ITS_WAY, [plan.experiment_id])
        return bool(cursor.fetchone()[0])


def _write(plan: ExperimentPlan, state: str, *, has_ended: bool, is_closed: bool) -> None:
    """Store the state, and report an ending once: `finished_at` is set from an ending until configs run again."""
    # An ended experiment may change its state without running: a config is deleted, or a retry completes one. Only the
    # second is an ending. Stopping the last paused config of an idle experiment is one without a change of state.
    had_ended = plan.finished_at is not None or plan.state in (State.DONE, State.FAILED)
    is_end = has_ended and (not had_ended or (state == State.DONE and plan.state != State.DONE))
    changes: dict[str, object] = {"is_closed": is_closed, "state": state}
    if changes == {"is_closed": plan.is_closed, "state": plan.state} and not is_end:
        return
    if is_end or not has_ended:
        changes["finished_at"] = Now() if is_end else None
    ExperimentPlan.objects.filter(pk=plan.pk).update(**changes)
    plan.state, plan.is_closed = state, is_closed
    if not is_end:
        return
    data: dict[str, JSONValue] = {"experiment_id": str(plan.experiment_id), "state": str(state)}
    record_event(account_id=plan.account_id, type=EventType.EXPERIMENT_FINISHED, data=data)
    ended.send(sender=None, plan=plan)
    if state == State.DONE:
        promote_leader(plan)
