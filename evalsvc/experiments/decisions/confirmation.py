"""Confirmation: when all have answered what the choice is made by, the chosen config and the baseline go on."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import F

from evalsvc.experiments.decisions.completion import count_all
from evalsvc.experiments.decisions.stops import store_decision
from evalsvc.experiments.inference.confirmation import CONFIRM, find_choice
from evalsvc.experiments.models import Config, ExperimentPlan, Output
from evalsvc.experiments.notices import EPOCHS, WORK, publish_on_commit
from evalsvc.experiments.reporting.live.view import live_view
from evalsvc.stats.race.elimination import Elimination


def confirm_leader(plan: ExperimentPlan, configs: Sequence[Config]) -> None:
    """Choose the config to confirm once nothing more can change the choice, and complete the configs that are over.

    The caller has locked the planner and the plan's row. A second call chooses nothing new.
    """
    if plan.confirm is None:
        return
    waiting = [c for c in configs if c.state == Config.State.RUNNING and c.watermark >= plan.run_length]
    if find_choice(plan) is None:
        is_open = any(
            config.is_paused or (config.state == Config.State.RUNNING and config not in waiting) for config in configs
        )
        if is_open or not waiting:
            return
        _choose(plan, waiting)
    for config in waiting:
        # Those that are confirmed have no place to wait at; the others have answered all that they are asked.
        if config.pause_at is not None or _has_confirmed(plan, config):
            _complete(config)


def _choose(plan: ExperimentPlan, waiting: Sequence[Config]) -> None:
    """Store who is confirmed, and let it go on with the baseline; of configs that are tied, the one that came first."""
    count_all(plan)
    view = live_view(plan)
    best = [view["leader"]] if view["leader"] is not None else view["tied"]
    chosen = next((config for config in waiting if str(config.pk) in best), None)
    if chosen is None:
        return
    evidence = {"n": float(plan.confirm or 0)} | ({"n_tied": float(len(best))} if len(best) > 1 else {})
    store_decision(plan, chosen, Elimination(chosen.pk, None, CONFIRM, None, evidence))
    going_on = [config for config in waiting if config is chosen or config.name == plan.baseline]
    Config.objects.filter(pk__in=[config.pk for config in going_on]).update(pause_at=None)
    for config in going_on:
        config.pause_at = None
    publish_on_commit(WORK)


def _has_confirmed(plan: ExperimentPlan, config: Config) -> bool:
    beyond = Output.objects.filter(config_id=config.pk, pos__gte=plan.run_length, scored=True)
    return beyond.count() == plan.confirm


def _complete(config: Config) -> None:
    state = Config.State.COMPLETED if config.n_ok else Config.State.FAILED
    reason = None if config.n_ok else Config.StopReason.ERROR
    rows = Config.objects.filter(pk=config.pk, state=Config.State.RUNNING)
    if rows.update(state=state, stop_reason=reason, epoch=F("epoch") + 1):
        publish_on_commit(EPOCHS)
        config.state, config.stop_reason = state, reason
