"""IC Ops: stop, resume, clone and delete configs while an experiment runs. All of them can be done twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, F, Q, Value, When

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.experiments.decisions.completion import find_locked_plan, settle
from evalsvc.experiments.decisions.stops import count_in_flight, stop_config
from evalsvc.experiments.definition.checks.unreadable import check_outputs
from evalsvc.experiments.definition.configs import Candidate, KnownConnections, prepare_parameters, problems
from evalsvc.experiments.definition.knobs import Path, pointed, set_values
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.definition.plans import check_templates
from evalsvc.experiments.definition.prompt_sources import unpin_prompt
from evalsvc.experiments.models import Config, ControlOp, ExperimentPlan, WorkUnit
from evalsvc.experiments.notices import EPOCHS, publish_on_commit
from evalsvc.experiments.selectors import get_plan, refuse_imported
from evalsvc.experiments.services import add_configs
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.race.elimination import Elimination
from evalsvc.tenancy.scope import account_scope

State = Config.State


@dataclass(frozen=True, slots=True)
class Action:
    """One kind of control: which states it changes, and into what."""

    name: str
    changes: tuple[str, ...]
    to: str
    stop_reason: str | None = None
    changes_paused: bool = False

    def applies_to(self, config: Config) -> bool:
        """Return whether it changes a config as it is now."""
        return config.state in self.changes or (self.changes_paused and config.is_paused)


STOP = Action("stop", (State.QUEUED, State.RUNNING), State.STOPPED, Config.StopReason.USER, changes_paused=True)
RESUME = Action("resume", (State.STOPPED, State.FAILED), State.RUNNING)
DELETE = Action("delete", tuple(state for state in State.values if state != State.DELETED), State.DELETED)
ACTIONS = {action.name: action for action in (STOP, RESUME, DELETE)}
# The rules that gave these reasons would give them again at the next look.
BY_RULE = (Config.StopReason.POLICY, Config.StopReason.DECIDED)


@dataclass(frozen=True, slots=True)
class Effect:
    """What an operation did: the configs as they are now, and which of them it changed."""

    op: ControlOp
    configs: list[Config]


def control(
    *,
    account: Account,
    experiment_id: int,
    action: Action,
    config_ids: Sequence[int] | None,
    expected_epochs: Mapping[int, int] | None = None,
    idempotency_key: str | None = None,
    actor: str,
) -> Effect:
    """Stop, resume or delete configs in one transaction; None means all of them.

    Those that are so already stay as they are. With `expected_epochs`, nothing is done unless every config still has
    the epoch that its caller has seen.
    """
    with account_scope(account.pk):
        plan = get_plan(account=account, id=experiment_id, lock=True)
        configs = _lock_configs(plan, config_ids)
        _check_epochs(plan, expected_epochs or {})
        changed = [config for config in configs if action.applies_to(config)]
        if action is RESUME:
            refuse_imported(plan, changed)
        in_flight = count_in_flight([config.pk for config in changed])
        Config.objects.filter(pk__in=[config.pk for config in changed]).update(
            state=_completed_or(plan, action),
            stop_reason=action.stop_reason,
            epoch=F("epoch") + 1,
            # The evidence against it is unchanged: without this the policy would stop it again immediately.
            kept_by_user=Case(When(stop_reason__in=BY_RULE, then=Value(True)), default=F("kept_by_user")),
        )
        if action is DELETE:
            WorkUnit.objects.filter(config__in=changed, addition__gt=0).exclude(state=WorkUnit.State.DONE).delete()
        if action is STOP:
            # What waits for a judge's endpoint is tried once more, now.
            resting = WorkUnit.objects.filter(config__in=changed, state=WorkUnit.State.SCORING, token=None)
            resting.exclude(waiting_since=None).update(lease_expires_at=None)
        if action is RESUME:
            # Outputs that waited for an endpoint are asked for now, and may wait as long again.
            open_units = WorkUnit.objects.filter(config__in=changed, state=WorkUnit.State.OPEN)
            open_units.exclude(waiting_since=None).update(lease_expires_at=None, waiting_since=None)
        if action is RESUME and (plan.pause_at_shards or plan.confirm):
            for config in changed:
                if plan.confirm and config.pause_at is None:
                    # It was being confirmed, and goes on.
                    continue
                Config.objects.filter(pk=config.pk).update(pause_at=plan.pause_after(config.watermark))
        if changed:
            publish_on_commit(EPOCHS)
        op = ControlOp.objects.create(
            account=account,
            experiment_id=experiment_id,
            action=action.name,
            actor=actor[:255],
            idempotency_key=idempotency_key,
            config_ids=[config.pk for config in configs],
            changed_ids=[config.pk for config in changed],
            n_in_flight=in_flight,
        )
        for config in changed:
            record_audit(
                account=account,
                actor=actor,
                action=f"config.{action.name}",
                target=config.name,
                experiment=str(experiment_id),
            )
        if changed and plan.state != ExperimentPlan.State.DRAFT:
            settle(plan)
        return Effect(op, list(Config.objects.filter(pk__in=[c.pk for c in configs]).order_by("arrival")))


def _completed_or(plan: ExperimentPlan, action: Action) -> Any:
    """Resuming what has seen every example ends it: there is nothing left to run. In a draft it waits again."""
    if action is not RESUME:
        return action.to
    if plan.state == ExperimentPlan.State.DRAFT:
        return State.QUEUED
    if plan.confirm:
        # The planner completes what has come to the end, or lets it go on to be confirmed.
        return State.RUNNING
    is_over = Q(watermark=plan.run_length)
    return Case(
        When(is_over & Q(n_ok=0), then=Value(State.FAILED)),
        When(is_over, then=Value(State.COMPLETED)),
        default=Value(State.RUNNING),
    )


def _lock_configs(plan: ExperimentPlan, config_ids: Sequence[int] | None) -> list[Config]:
    rows = (
        Config.objects.filter(experiment_id=plan.pk)
        .exclude(state=State.DELETED)
        .order_by("id")
        .select_for_update(no_key=True)
    )
    if config_ids is None:
        return list(rows)
    configs = list(rows.filter(pk__in=config_ids))
    missing = set(config_ids) - {config.pk for config in configs}
    # Deleting a config that is already deleted is allowed.
    missing -= set(Config.objects.filter(experiment_id=plan.pk, pk__in=missing).values_list("pk", flat=True))
    if missing:
        raise Invalid(FieldError("/config_ids", f"No such config: {', '.join(str(id) for id in sorted(missing))}."))
    return configs


def _check_epochs(plan: ExperimentPlan, expected: Mapping[int, int]) -> None:
    # A config that has been deleted since has changed too.
    for config in Config.objects.filter(experiment_id=plan.pk, pk__in=expected).order_by("arrival"):
        if expected[config.pk] != config.epoch:
            detail = f"Config {config.name!r} has changed: its epoch is {config.epoch}, not {expected[config.pk]}."
            raise Invalid(FieldError(f"/expected_epochs/{config.pk}", detail), code="stale_epoch")


def clone(*, account: Account, config: Config, name: str | None, changes: Mapping[str, object], actor: str) -> Config:
    """Create a config from another one, with changed parameters, and run it from the first position.

    A parameter that is changed to null is removed. Evidence collected so far counts for no decision about the new
    config, because its changes might be fitted to it. Raises Invalid, with pointers into `/changes`.
    """
    with account_scope(account.pk):
        plan = get_plan(account=account, id=config.experiment_id, lock=True)
        parameters = _apply_changes(config.parameters, changes)
        parameters = _drop_nulls(parameters)
        parameters = prepare_parameters(account, config.kind, _unpinned(config.kind, parameters, changes), pointer="")
        candidate = Candidate(name or _free_name(config), config.kind, parameters)
        _check_changes(account, plan, candidate)
        (added,) = add_configs(
            account=account, plan=plan, candidates=[candidate], parent=config, actor=actor, pointer=""
        )
        ControlOp.objects.create(
            account=account,
            experiment_id=plan.pk,
            action="clone",
            actor=actor[:255],
            config_ids=[config.pk],
            changed_ids=[added.pk],
        )
        return added


def _drop_nulls(parameters: Mapping[str, Any]) -> dict[str, Any]:
    non_null = {knob: value for knob, value in parameters.items() if value is not None}
    if isinstance(nodes := non_null.get("nodes"), Mapping):
        non_null_nodes = {name: node for name, node in nodes.items() if node is not None}
        non_null["nodes"] = {
            name: {knob: value for knob, value in node.items() if value is not None}
            if isinstance(node, Mapping)
            else node
            for name, node in non_null_nodes.items()
        }
    return non_null


def _paths(changes: Mapping[str, object]) -> list[Path]:
    return [pointed(knob) if knob.startswith("/") else (knob,) for knob in changes]


def _unpinned(kind: str, parameters: dict[str, Any], changes: Mapping[str, object]) -> dict[str, Any]:
    """Return the parameters with renamed prompts unpinned, those of nodes too, so that they are looked up again."""
    paths = _paths(changes)
    if kind == Config.Kind.CHAT:
        return unpin_prompt(parameters, {path[0] for path in paths})
    if kind != Config.Kind.PIPELINE:
        return parameters
    nodes = {
        name: unpin_prompt(node, {path[2] for path in paths if path[:2] == ("nodes", name) and len(path) > 2})
        if isinstance(node, Mapping)
        else node
        for name, node in parameters["nodes"].items()
    }
    return {**parameters, "nodes": nodes}


def _apply_changes(parameters: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return set_values(parameters, _paths(changes), list(changes.values()))
    except ValueError as exc:
        raise Invalid(FieldError("/changes", str(exc))) from None


def _check_changes(account: Account, plan: ExperimentPlan, candidate: Candidate) -> None:
    kind, parameters = candidate.kind, candidate.parameters
    wrong = [*problems(kind, parameters), *KnownConnections(account).problems(kind, parameters)]
    errors = [FieldError(f"/changes{where.removeprefix('/parameters')}", why) for where, why in wrong]
    if errors:
        raise Invalid(*errors)
    try:
        check_templates(account=account, version=plan.dataset_version, candidates=[candidate])
        metrics = [Metric.from_json(row) for row in plan.metrics]
        check_outputs(plan.dataset_version, metrics, plan.sample, [candidate], pointer="")
    except Invalid as exc:
        raise Invalid(*(FieldError("/changes", error.detail) for error in exc.errors)) from None


def _free_name(config: Config) -> str:
    names = set(Config.objects.filter(experiment_id=config.experiment_id).values_list("name", flat=True))
    number = 2
    while f"{config.name[:90]} ({number})" in names:
        number += 1
    return f"{config.name[:90]} ({number})"


def stop_by_worker(*, account_id: int, experiment_id: int, config_id: int, reason: str, detail: str) -> None:
    """Stop a config that cannot answer any example now; it can be resumed once the cause is fixed."""
    with account_scope(account_id):
        plan = find_locked_plan(account_id, experiment_id)
        if plan is None:
            return
        config = Config.objects.get(account_id=account_id, pk=config_id)
        drop = Elimination(config.pk, None, reason, None, {"detail": detail})  # type: ignore[dict-item]
        state = State.FAILED if reason == Config.StopReason.ERROR else State.STOPPED
        if stop_config(plan, config, reason=reason, drop=drop, state=state):
            settle(plan)
