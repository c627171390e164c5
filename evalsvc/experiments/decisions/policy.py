"""What the policy does with the configs of one experiment: who is stopped, who comes back, and when it is decided."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evalsvc.experiments.decisions.stops import RESUMED, record_decision, reinstate, stop_config
from evalsvc.experiments.inference.pairs.evidence import Pairs, primary_metric
from evalsvc.experiments.models import Config, Decision, ExperimentPlan, Policy
from evalsvc.stats.race.elimination import Contender, Elimination, Rules, decide, unsupported

State, Reason = Config.State, Config.StopReason


def build_rules(plan: ExperimentPlan) -> Rules:
    """Return the rules that a plan's decisions follow."""
    return Rules(
        policy=plan.policy,
        level=plan.level,
        k_max=plan.k_max,
        n_original=plan.n_original,
        epsilon=plan.epsilon,
        population=plan.n_examples,
        shard_ends=plan.shard_ends,
    )


def build_contenders(
    configs: Sequence[Config], waiting: Collection[int] = (), resumed: dict[int, int] | None = None
) -> list[Contender]:
    """Return the configs as the race sees them; `resumed`: where those stood that came back."""
    return [
        Contender(
            id=config.pk,
            arrival=config.arrival,
            fresh_from=config.fresh_from,
            watermark=config.watermark,
            is_active=config.is_in_race,
            is_waiting=config.pk in waiting,
            resumed_at=(resumed or {}).get(config.pk, -1),
        )
        for config in configs
    ]


def stop_losers(plan: ExperimentPlan, configs: Sequence[Config], pairs: Pairs) -> None:
    """Stop what the policy eliminates, and reinstate what lost to a config now out, until nothing changes."""
    if plan.policy == Policy.MANUAL or not primary_metric(plan).is_comparable:
        return
    while _decide_once(plan, configs, pairs):
        # Terminates: a reinstated config is not stopped for epsilon before it has more answers, and no other stop is
        # reverted.
        pass


def _decide_once(plan: ExperimentPlan, configs: Sequence[Config], pairs: Pairs) -> bool:
    """Decide on the current evidence; return whether anything has changed."""
    configs_by_id = {config.pk: config for config in configs}
    stops, resumed = _past(plan, configs)
    waiting = unsupported(stops, {config.pk for config in configs if config.is_in_race})
    drops = {drop.loser: drop for drop in decide(build_rules(plan), build_contenders(configs, waiting, resumed), pairs)}
    changed = False
    for id, drop in drops.items():
        if id in waiting:
            # It stays stopped, for another config that is in the race.
            record_decision(plan, configs_by_id[id], drop)
            changed = True
        elif not configs_by_id[id].kept_by_user:
            changed |= stop_config(plan, configs_by_id[id], reason=Reason.POLICY, drop=drop)
    for id in waiting - drops.keys():
        changed |= reinstate(plan, configs_by_id[id], reason=Reason.POLICY, because_of=stops[id].winner)
    return changed


def _past(plan: ExperimentPlan, configs: Sequence[Config]) -> tuple[dict[int, Elimination], dict[int, int]]:
    """Return the latest stop of each config that the policy has stopped, and where those stood that came back."""
    if plan.epsilon is None:
        return {}, {}
    by_policy = {
        config.pk for config in configs if config.state == State.STOPPED and config.stop_reason == Reason.POLICY
    }
    stops, resumed = {}, {}
    rows = Decision.objects.filter(experiment_id=plan.pk).order_by("id")
    for id, against, reason, watermark in rows.values_list("config_id", "against_id", "reason", "watermark"):
        if reason == RESUMED:
            resumed[id] = watermark
        elif id in by_policy:
            stops[id] = Elimination(id, against, reason, None, {})
    return stops, resumed


def has_unsupported_stop(plan: ExperimentPlan) -> bool:
    """Return whether a stop for epsilon must be tested again, as its winner was stopped or deleted since."""
    if plan.epsilon is None or plan.policy == Policy.MANUAL:
        return False
    configs = list(Config.objects.filter(experiment_id=plan.pk))
    stops, _ = _past(plan, configs)
    return bool(unsupported(stops, {config.pk for config in configs if config.is_in_race}))


def stop_decided(plan: ExperimentPlan, configs: Sequence[Config]) -> None:
    """Stop the last config in the race, where the plan requires it, and reinstate it once others have joined."""
    if not plan.stop_when_decided:
        return
    racing = [config for config in configs if config.is_in_race]
    has_losers = any(config.state == State.STOPPED and config.stop_reason == Reason.POLICY for config in configs)
    if len(racing) == 1 and has_losers and racing[0].state == State.RUNNING and not racing[0].kept_by_user:
        drop = Elimination(racing[0].pk, None, "decided", None, {"n": racing[0].watermark})
        stop_config(plan, racing[0], reason=Reason.DECIDED, drop=drop)
    others = [config.pk for config in racing if config.state == State.RUNNING]
    for config in racing:
        if config.stop_reason == Reason.DECIDED and config.state == State.STOPPED and others:
            reinstate(plan, config, reason=Reason.DECIDED, because_of=others[0])
